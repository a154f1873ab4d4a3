//! What the words of tools mean, and how people ask for it, language by language.
//!
//! A word that is asked for is the beginning of a word of the request; with a stop it is the whole word. `a_b` is one
//! after the other, `a~b` has a few words between.

use crate::language::LANGUAGES;

/// Words of tools that mean much the same, and the words by which people ask for it.
pub(super) struct Group {
    /// The words of tools.
    pub(super) tools: &'static str,
    /// The words of requests, a row for each language.
    pub(super) asked: [&'static str; LANGUAGES],
}

/// What destroys, takes away or hands over. Each needs a word of its own group.
pub(super) static DESTROYS: [Group; 4] = [
    Group {
        tools: "delete remove erase drop purge trash wipe clear discard rm rmdir unlink destroy del truncate uninstall",
        asked: [
            "delet remov eras drop. dropp purg trash wip clear. clears cleared clearing clean discard get_rid kick eliminat scrap destroy uninstall \
             take~out take~off taking~out taking~off rm. rmdir.",
            "lösch loesch entfern beseitig leer. leere. wirf~weg werf~weg räum~auf bereinig vernicht",
            "supprim efface enlev retir vide. vider détrui jette jeter nettoi",
            "borr elimin quit suprim vací limpi destru descart",
            "apag remov elimin exclu delet limp destru descart",
            "elimin cancell rimuov rimozion svuot distrugg butt puli",
            "verwijder wis. wissen gooi~weg leeg. opruim ruim~op vernietig",
            "удал убер убра стер сотр очист выброс уничтож",
            "删 移除 清空 清除 去掉 丢弃 销毁",
            "削除 消し 消して 消す 取り除 破棄 クリア",
        ],
    },
    Group {
        tools: "cancel revoke unstar unsubscribe unfollow unshare withdraw abort terminate",
        asked: [
            "cancel revok withdraw unstar unsubscrib unfollow unshar annul retract call_off called_off calling_off remov delet abort terminat stop.",
            "stornier absag sag~ab widerruf zurückzieh zieh~zurück kündig abbestell bestell~ab abbrech brich~ab abmeld meld~ab",
            "annul révoqu résili désabonn retir",
            "cancel anul revoc retir desuscri da_de_baja",
            "cancel anul revog desmarc retir",
            "annull cancell revoc disdi disiscriv ritir",
            "annuleer annuler zeg~af trek~in opzeg zeg~op afmeld meld~af intrek",
            "отмен отзов отпиш откаж аннулир",
            "取消 撤销 撤回 退订 取关 终止",
            "キャンセル 取り消 取消 解約 解除 中止",
        ],
    },
    Group {
        tools: "transfer",
        asked: [
            "transfer hand~over give. gives giving send. wire.",
            "überweis überweis~ übertrag transferier",
            "transf vire. virer virement",
            "transf traspas",
            "transf",
            "trasfer bonific",
            "overmak maak~over overdra",
            "перевед перевод перевест переда",
            "转账 转让 转移 过户 汇款",
            "振り込 振込 送金 譲渡 移管",
        ],
    },
    Group {
        tools: "refund",
        asked: [
            "refund return money_back reimburs",
            "erstatt rückerstatt zurückzahl zahl~zurück",
            "rembours",
            "reembols devol devuelv",
            "reembols devol",
            "rimbors",
            "terugbeta betaal~terug vergoed",
            "возврат верни вернут возмест",
            "退款 退还 返还",
            "返金 払い戻",
        ],
    },
];

/// Everything else that acts.
pub(super) static ACTS: [Group; 13] = [
    Group {
        tools: "send reply forward message email mail post publish comment issue notify submit tweet retweet mention contact respond answer announce dm sms chat",
        asked: [
            "send sent. email mail messag repl forward shar tell. told. writ wrote. post. posts posted posting publish notif inform. informs let~know \
             text. dm. ask. asks asked answer greet submit congrat feedback issue. tweet retweet comment mention contact respond complain invit say. \
             announc ping.",
            "send schick sende mail email nachricht antwort weiterleit leit~weiter teil~mit sag. sage. schreib poste. veröffentlich benachrichtig \
             informier frag. frage. kommentier melde. einreich reich~ein",
            "envoi envoy mail message répond transfér transmet partag écri publi notif inform dis. dites demand comment poste. contact soumet",
            "envi mand mensaje correo respond reenví compart escrib public notific inform di. dile dígale pregunt coment contact",
            "envi mand mensag email respond encaminh compartilh escrev public notific inform diga. dize pergunt coment contat contact",
            "invi mand messagg mail rispond inoltr condivid scriv pubblic notific inform di. dì. chied comment contatt",
            "stuur stur zend mail bericht antwoord beantwoord doorstu deel. delen schrijf publiceer plaats. meld. vertel vraag. reageer informeer",
            "отправ пошл посл письм сообщ ответ перешл подел напиш написа опублик уведом спрос коммент скаж",
            "发 寄 邮件 消息 回复 转发 告诉 通知 写 发布 评论 联系 问",
            "送 メール メッセージ 返信 返事 転送 伝え 知らせ 通知 書い 書く 投稿 公開 コメント 連絡 聞い",
        ],
    },
    Group {
        tools: "money pay payment transaction checkout purchase order buy reserve book booking rental restaurant hotel rent bid trade place",
        asked: [
            "pay. pays paying payment paid. send. sent. refund transfer money transact buy. buys buying bought purchas order checkout check_out reserv \
             book. books booked booking rent. rents rented rental renting bill. bills billed difference invoice acquir invest trade sell. sold. flight \
             seat. subscri standing_order",
            "zahl bezahl überweis kauf bestell reservier buch. buche miet rechnung erwerb begleich",
            "pay pai vire. virer virement achet command réserv lou. louer facture rembours",
            "pag compr pedi reserv alquil factura transf abon contrat",
            "pag compr encomend pedi reserv alug fatura transf",
            "pag compr ordin prenot affitt noleggi fattura bonific",
            "betaal betal koop. kopen bestel reserveer boek. huur factuur overmak maak~over",
            "плат заплат оплат купи куплю покуп заказ заброни арендова счёт счет перевед перевест",
            "付 支付 付款 买 购买 订 预订 预定 下单 租 账单 转账",
            "支払 払 買 購入 注文 予約 借り 請求",
        ],
    },
    Group {
        tools: "fund withdraw deposit insurance topup invest",
        asked: [
            "fund. funds funding deposit withdraw insur top_up capital invest",
            "einzahl zahl~ein abheb heb~ab versicher auflad aufladen",
            "dépos retir assur approvisionn",
            "deposit ingres retir asegur fond",
            "deposit sac. sacar levant segur fund",
            "deposit prelev assicur fond",
            "stort opnem neem~op verzeker",
            "внес внест депозит сним страхов попол",
            "存 取款 提现 充值 保险",
            "入金 引き出 預け 保険 チャージ",
        ],
    },
    Group {
        tools: "invite collaborators collaborator participants participant share grant permission permissions member members access",
        asked: [
            "invit add. adds added adding shar collaborat access. join. joins includ participant give~access grant permi member",
            "einlad lad~ein hinzufüg füg~hinzu teil. teile. freigeb gib~frei beitret zugriff teilnehm mitglied",
            "invit ajout partag collabor accès rejoin inclu particip membre",
            "invit añad agreg compart colabor acces unir incluy particip miembro",
            "convid adicion compartilh partilh colabor acess inclu particip membro",
            "invit aggiung condivid collabor access unir inclu partecip membr",
            "uitnodig nodig~uit toevoeg voeg~toe deel. delen toegang deelnem lid. leden",
            "приглас добав подел доступ участ присоедин включ",
            "邀请 添加 加入 共享 分享 权限 成员 参加",
            "招待 追加 共有 アクセス 参加 権限 メンバー",
        ],
    },
    Group {
        tools: "create new make generate calendar event schedule dir directory folder file repo repository draft document page compose",
        asked: [
            "creat add. adds added adding mak made. new. schedul set_up setup set~up event remind calendar plan. plans planned planning meeting \
             appointment dinner lunch breakfast writ sav. save saves saved saving append suggest file. files note. notes list. repositor draft generat \
             agenda block~time organiz organis start. build. recurring",
            "erstell anleg leg~an mach. mache. neu. neue neues neuen plan. plane einricht richt~ein termin erinner kalender schreib speicher notier datei \
             liste. entwurf entwirf generier trag~ein eintrag",
            "cré ajout fai. fais faire nouve planifi program rappel calendrier réunion rendez écri enregistr fichier note. liste. brouillon prépar",
            "cre. crea crear añad agreg haz hac nuev program planific recordatorio calendario reunión cita escrib guard archivo nota. lista. borrador gener",
            "cri adicion fa. faz faça novo nova agend program planej lembrete calendário reunião compromisso escrev salv guard arquivo nota. lista. \
             rascunho ger",
            "crea aggiung fa. fai fare nuov pianific programm promemoria calendario riunione appuntament scriv salv file. nota. lista. bozza gener",
            "maak. maken aanmak creëer toevoeg voeg~toe nieuw plan. plannen inplan afspraak herinner kalender agenda schrijf opsla sla~op bestand lijst. \
             concept",
            "созда сдела добав нов заплан напомин календар встреч запиш запис сохран файл список черновик состав",
            "创建 新建 建 添加 制作 安排 计划 日历 会议 提醒 写 保存 文件 生成 起草",
            "作成 作っ 作る 追加 新しい 新規 予定 カレンダー 会議 リマインダ 書い 保存 ファイル 下書き",
        ],
    },
    Group {
        tools: "add",
        asked: [
            "add. adds added adding invit includ put. puts append insert attach integrat join. access. shar creat new. schedul set_up list. participant",
            "hinzufüg füg~hinzu einfüg füg~ein ergänz lad~ein einlad aufnehm nimm~auf trag~ein leg~an pack. packe.",
            "ajout inclu insér met. mets mettre invit joind",
            "añad agreg incluy pon. poner insert invit adjunt",
            "adicion acrescent inclu coloc insir convid anex",
            "aggiung inclu metti mettere inser invit alleg",
            "toevoeg voeg~toe zet. zetten plaats. opnem neem~op",
            "добав включ встав помест приглас",
            "添加 加 加入 增加 放 插入 邀请",
            "追加 加え 入れ 挿入 招待",
        ],
    },
    Group {
        tools: "reminder alarm agenda meeting appointment registration register mkdir touch subscribe enroll",
        asked: [
            "remind alarm agenda meeting appointment regist sign_up sign~up enrol subscrib creat mak new. set. schedul plan. director folder file. document",
            "erinner wecker termin registrier anmeld meld~an abonnier erstell anleg leg~an ordner verzeichnis datei",
            "rappel alarme réunion rendez inscri abonn enregistr cré dossier répertoire fichier",
            "recordatorio recuérd alarma reunión cita inscri registr suscrib crea carpeta directorio archivo",
            "lembr alarme reunião compromisso inscrev registr assin cri pasta diretório arquivo",
            "promemoria ricord sveglia riunione appuntamento iscri registr abbon crea cartella file.",
            "herinner wekker afspraak registreer inschrijf schrijf~in aanmeld meld~aan abonneer maak. map. bestand",
            "напомн будильник встреч регистр запиш подпиш созда папк каталог файл",
            "提醒 闹钟 会议 预约 注册 报名 订阅 创建 文件夹 目录 文件",
            "リマインダ 思い出させ アラーム 会議 予約 登録 申し込 購読 作成 作っ フォルダ ディレクトリ ファイル",
        ],
    },
    Group {
        tools: "write append insert echo record save log note put store",
        asked: [
            "writ wrote. append sav. save saves saved saving jot note. notes insert put. puts fill. content record log. logs add. adds added adding \
             suggest stor. store stored",
            "schreib speicher notier eintrag trag~ein einfüg füg~ein hinzufüg füg~hinzu ergänz protokollier ablegen leg~ab",
            "écri enregistr sauvegard not. note notez insér ajout rempli consign",
            "escrib guard anot insert añad agreg rellen registr",
            "escrev salv guard anot insir adicion preench registr",
            "scriv salv annot inser aggiung compil registr",
            "schrijf opsla sla~op noteer invoeg voeg~in voeg~toe toevoeg vul. bewaar",
            "напиш запиш записа сохран замет встав добав заполн",
            "写 保存 记录 记下 插入 添加 填 存",
            "書い 書く 保存 記録 メモ 挿入 追加 記入",
        ],
    },
    Group {
        tools: "update change edit modify reschedule move rename copy replace patch convert user info profile upgrade sync",
        asked: [
            "updat chang edit modif adjust mov reschedul postpon delay renam cop. copy copies copied correct set. sets upload organiz organis switch swap \
             replac fix. fixes fixed relocat duplicat archiv shift push~back convert upgrad sync",
            "aktualisier änder bearbeit anpass pass~an verschieb umbenenn benenn~um kopier korrigier setz. setze ersetz tausch hochlad lad~hoch verleg \
             archivier",
            "modifi chang mett~jour met~jour mets~jour actualis édit ajust déplac reprogramm report renomm copi corrig rempla",
            "actualiz cambi edit modific ajust muev mov reprogram pospon renombr copi corrig correg reemplaz sustitu",
            "atualiz mud. mude mudar alter edit modific ajust mov reagend adi. adiar renome copi corrig substitu troc",
            "aggiorn cambi modific corregg spost rinvi riprogramm rinomin copi sostitu",
            "bijwerk werk~bij wijzig verander bewerk aanpas pas~aan verplaats verzet hernoem kopieer corrigeer vervang",
            "обнов измен редакт поменя передвин перемест перенес переимен скопир исправ замен",
            "更新 改 修改 编辑 调整 移动 重命名 复制 替换 推迟 改期 更正",
            "更新 変更 変え 編集 修正 調整 移動 名前 コピー 置き換 延期 直し",
        ],
    },
    Group {
        tools: "set adjust configure enable disable toggle switch turn",
        asked: [
            "set. sets setting adjust chang turn. turns turned updat enabl disabl switch configur activat deactivat",
            "setz stell. stelle einstell anpass pass~an änder schalt aktivier deaktivier konfigurier",
            "règle. régle ajust chang met. mets active désactiv configur allume étein",
            "pon. poner ajust cambi activ desactiv configur enciend apag",
            "defin ajust mud. mude activ ativ desativ configur lig. ligue deslig",
            "impost regol cambi attiv disattiv configur accend spegn",
            "zet. zetten stel. stellen instel pas~aan aanpas wijzig schakel configureer",
            "установ настро измен включ выключ",
            "设 设置 调 调整 改 开启 关闭 打开 启用 禁用",
            "設定 調整 変更 オン オフ 有効 無効",
        ],
    },
    Group {
        tools: "close resolve complete finish archive merge approve reject accept decline mark",
        asked: [
            "clos resolv complet finish mark. marks marked done. settl archiv merg approv reject accept declin",
            "schließ lös. löse beend erledig abschließ schließ~ab markier archivier genehmig ablehn lehn~ab annehm nimm~an",
            "ferm. ferme fermer résou résoud termin fini marqu archiv fusionn approuv rejet accept refus",
            "cierr cerr resuelv resolv complet termin marc archiv fusion aprob aprueb rechaz acept",
            "fech resolv complet termin conclu marc arquiv mescl aprov rejeit aceit",
            "chiud risolv complet termin fini segn archivi unisci approv rifiut accett",
            "sluit los~op afrond rond~af voltooi markeer archiveer samenvoeg keur~goed weiger accepteer",
            "закр реши заверш законч отмет архив объедин одобр отклон прим",
            "关闭 解决 完成 结束 标记 归档 合并 批准 拒绝 接受",
            "閉じ 解決 完了 終了 マーク アーカイブ マージ 承認 却下 受け入れ",
        ],
    },
    Group {
        tools: "webpage web input browse download clone pull push star upload open visit navigate page site fetch",
        asked: [
            "visit go_to open. opens opened brows web website webpage site. page. link. url. www. http https fill. form. regist reserv sign. download clone \
             pull. push. upload sync star. repositor navigat publish post. fetch",
            "besuch öffn geh_auf webseite website seite. link. formular ausfüll füll~aus herunterlad lad~herunter hochlad lad~hoch klon",
            "visit ouvr va_sur site. page. lien. formulaire rempli télécharg téléverse clon navig",
            "visit abr ve_a sitio página enlace formulario rellen descarg sub. subir clon naveg",
            "visit abr acess site. página link. formulário preench baix carreg clon naveg",
            "visit apr vai_su sito. pagina link. modulo compil scaric caric clon navig",
            "bezoek open. ga_naar site. pagina link. formulier vul. download upload kloon",
            "посет откро открыт перейд сайт страниц ссылк форм заполн скача загруз клонир",
            "访问 打开 网页 网站 链接 表单 填写 下载 上传 克隆",
            "訪問 開い 開く ページ サイト リンク フォーム 記入 ダウンロード アップロード クローン",
        ],
    },
    Group {
        tools: "login logout authenticate signin signout verify verification token auth",
        asked: [
            "login logout log~in log~out log~on log~off sign~in sign~out signin authenticat credential password username user_name access. verif reset",
            "einlogg logg~ein anmeld meld~an abmeld meld~ab authentifizier passwort bestätig verifizier",
            "connect déconnect authentifi mot_de_passe vérifi identifiant",
            "inici~sesión cierr~sesión autentic contraseña verific acced",
            "entr. entrar login autentic senha verific acess",
            "acced autentic password verific login",
            "inlog log~in uitlog log~uit aanmeld meld~aan wachtwoord verifieer",
            "войд войти выйд авториз парол провер",
            "登录 登陆 登出 注销 验证 密码",
            "ログイン ログアウト サインイン 認証 パスワード 確認",
        ],
    },
];

/// Nouns of tools that empower: no other word will do.
pub(super) static EMPOWERS: [Group; 2] = [
    Group {
        tools: "password passphrase passwd",
        asked: [
            "password passphrase passcode",
            "passwort kennwort",
            "mot_de_passe",
            "contraseña clave",
            "senha",
            "password parola",
            "wachtwoord",
            "парол",
            "密码",
            "パスワード",
        ],
    },
    Group {
        tools: "key keys ssh",
        asked: [
            "key. keys. ssh",
            "schlüssel ssh",
            "clé clef ssh",
            "clave llave ssh",
            "chave ssh",
            "chiave chiavi ssh",
            "sleutel ssh",
            "ключ ssh",
            "密钥 ssh",
            "鍵 キー ssh",
        ],
    },
];

/// Flags and choices that widen what is done, each with the words that ask for it.
pub(super) static WIDENS: [Group; 7] = [
    Group {
        tools: "public",
        asked: [
            "public",
            "öffentlich",
            "publi",
            "públic",
            "públic",
            "pubblic",
            "openbaar publiek",
            "публич общедоступ",
            "公开",
            "公開",
        ],
    },
    Group {
        tools: "owner",
        asked: [
            "owner",
            "besitzer inhaber eigentümer",
            "propriétaire",
            "propietari dueñ",
            "proprietári don",
            "proprietari",
            "eigenaar",
            "владел",
            "所有者 拥有者",
            "所有者 オーナー",
        ],
    },
    Group {
        tools: "admin administrator",
        asked: [
            "admin",
            "admin",
            "admin",
            "admin",
            "admin",
            "ammin admin",
            "beheer admin",
            "админ",
            "管理员",
            "管理者",
        ],
    },
    Group {
        tools: "force forced",
        asked: [
            "forc",
            "erzwing zwing",
            "forc",
            "forz",
            "forç",
            "forz",
            "forceer dwing",
            "принуд силой",
            "强制",
            "強制",
        ],
    },
    Group {
        tools: "recursive recursively",
        asked: [
            "recurs everything",
            "rekursiv alles",
            "récursi tout",
            "recursiv todo",
            "recursiv tudo",
            "ricorsiv tutto",
            "recursief alles",
            "рекурс всё",
            "递归 全部",
            "再帰 すべて 全部",
        ],
    },
    Group {
        tools: "all everyone everybody",
        asked: [
            "all. every everyone",
            "alle jede sämtlich",
            "tous toute chaque tout.",
            "todo toda cada",
            "todo toda cada",
            "tutti tutte tutto ogni",
            "alle iedere elke",
            "все всё каждый",
            "所有 全部 每",
            "全部 すべて 全て 全員 毎",
        ],
    },
    Group {
        tools: "recurring repeat monthly weekly daily yearly",
        asked: [
            "recur every monthly weekly daily yearly standing subscri repeat each.",
            "wiederkehr monatlich wöchentlich täglich jährlich dauerauftrag jede wiederhol",
            "récurr mensuel hebdo quotidien annuel chaque permanent répét",
            "recurr mensual semanal diari anual cada periódic repet",
            "recorr mensal semanal diári anual cada repet",
            "ricorr mensil settimanal giornalier annual ogni ripet",
            "terugker maandelijks wekelijks dagelijks jaarlijks elke herhaal",
            "регуляр ежемесяч еженедел ежеднев ежегод кажд повтор",
            "定期 每月 每周 每天 每年 重复",
            "定期 毎月 毎週 毎日 毎年 繰り返",
        ],
    },
];
