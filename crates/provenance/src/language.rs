//! The languages in which requests are understood: what tells them, what says no in them, what means nothing.

use crate::normal::{is_unspaced, tokens};

/// A language with word lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Russian,
    Chinese,
    Japanese,
}

/// How many languages there are: every table of words has a row for each.
pub(crate) const LANGUAGES: usize = 10;

/// The words of one language. Several words that belong together are joined by `_`.
pub(crate) struct WordsOf {
    /// Words that mean nothing by themselves. They also tell the language.
    pub(crate) empty: &'static str,
    /// What denies the rest of its clause.
    pub(crate) denies: &'static str,
    /// What denies all of its clause, wherever it stands there.
    pub(crate) denies_all: &'static str,
    /// What follows such a word where nothing is denied: "do not forget".
    pub(crate) harmless: &'static str,
    /// What says that a name or a text is for something that does not exist yet.
    pub(crate) makes: &'static str,
    /// What begins a new clause.
    pub(crate) but: &'static str,
    /// What stands between a noun and its value: "the number is 5".
    pub(crate) links: &'static str,
    /// Whether a capital inside of a sentence begins a name.
    pub(crate) capitals_are_names: bool,
}

/// The words of each language, in the order of [`Language`].
static WORDS: [WordsOf; LANGUAGES] = [
    WordsOf {
        empty: "the a an and or of to in on at for from with by is are be been being was were it its this that these those i you me \
            my your our his her their him them they we us he she as if not no do does did done have has had will would can could \
            should may might must please hi hello hey re fw fwd ve ll don there here all any each also then than so but into out up \
            down about over under just more most very one two s t m d what which who when where how some",
        denies: "not never don_t dont doesn_t mustn_t shouldn_t except without instead_of rather_than other_than avoid",
        denies_all: "",
        harmless: "forget hesitate only sure yet just worry",
        makes: "new. creat make. making schedul draft compos generat should_be will_be",
        but: "but",
        links: "is of as to with be should will would it changed into called named starting beginning",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "der die das den dem des ein eine einen einem einer eines und oder von zu in im an am auf für aus mit bei ist sind sein war \
            es dies diese dieser dieses ich du sie mir mich mein meine meinen meiner dein deine ihr ihre unser wir uns er als wenn \
            nicht kein bitte hallo auch dann so aber über unter noch nur sehr alle was wer wann wo wie dass zum zur vom",
        denies: "ohne außer ausser niemals anstatt statt",
        denies_all: "nicht nie kein keine keinen keinem keiner",
        harmless: "nur vergessen vergiss",
        makes: "neu. neue neues neuen neuer erstell anleg mach entwirf",
        but: "aber sondern",
        links: "ist von als zu mit lautet auf heißt",
        capitals_are_names: false,
    },
    WordsOf {
        empty: "le la les l un une des du de et ou à au aux en dans sur pour par avec est sont être était ce cet cette ces je tu il elle \
            nous vous ils me moi mon ma mes ton ta tes son sa ses notre votre leur se si ne pas plus s il_te bonjour salut aussi \
            puis alors mais que qui quoi quand où comment tout tous très d j m t c qu",
        denies: "ne n sans sauf excepté jamais au_lieu_de plutôt_que",
        denies_all: "",
        harmless: "oublie oubliez hésite hésitez",
        makes: "nouve cré fai rédig doit_être",
        but: "mais",
        links: "est de à avec comme du sera",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "el la los las un una unos unas y o de del al a en por para con es son ser era este esta esto estos estas yo tú usted él \
            ella nosotros me mi mis tu tus su sus nuestro se si no más hola también entonces pero que quien qué cuándo dónde cómo \
            todo todos muy lo le les favor",
        denies: "no nunca jamás sin excepto salvo en_lugar_de en_vez_de",
        denies_all: "",
        harmless: "olvides olvide dudes dude solo sólo",
        makes: "nuev crea haz hac redact debe_ser",
        but: "pero sino",
        links: "es de a con como del sea",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "o a os as um uma uns umas e ou de do da dos das ao à no na nos nas em por para com é são ser era este esta isto estes \
            eu tu você ele ela nós me meu minha meus minhas teu seu sua seus nosso se não mais olá também então mas que quem quando \
            onde como todo todos muito lhe favor",
        denies: "não nunca jamais sem exceto salvo em_vez_de",
        denies_all: "",
        harmless: "esqueça esqueças hesite só",
        makes: "novo nova cri faç faz redij deve_ser",
        but: "mas porém",
        links: "é de a com como do da seja",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "il lo la i gli le un uno una e o di del dello della dei delle al allo alla ai alle da dal dalla in nel nella su sul per \
            con è sono essere era questo questa questi io tu lei lui noi mi mio mia miei tuo tua suo sua nostro si se non più ciao \
            anche poi ma che chi quando dove come tutto tutti molto favore l d",
        denies: "non mai senza eccetto tranne invece_di piuttosto_che",
        denies_all: "",
        harmless: "dimenticare dimenticarti esitare solo",
        makes: "nuov crea fai scriv deve_essere",
        but: "ma però",
        links: "è di a con come del della sia",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "de het een en of van naar te in op aan voor uit met bij is zijn was waren dit dat deze die ik jij je u mij me mijn jouw \
            uw onze hij zij wij ons als niet geen alsjeblieft alstublieft hallo ook dan zo maar over onder nog alleen zeer alle wat \
            wie wanneer waar hoe om",
        denies: "zonder behalve nooit in_plaats_van",
        denies_all: "niet geen",
        harmless: "alleen vergeten vergeet",
        makes: "nieuw maak schrijf",
        but: "maar",
        links: "is van als naar met te op",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "и или в во на с со к ко из от до для по о об это этот эта эти я ты вы он она мы они мне меня мой моя мои моё твой ваш \
            наш его её их как если не нет пожалуйста привет также потом но что кто когда где всё все очень у за",
        denies: "не нельзя никогда без кроме вместо",
        denies_all: "",
        harmless: "забудь забудьте только",
        makes: "нов созда состав",
        but: "но а",
        links: "это есть как на с равен",
        capitals_are_names: true,
    },
    WordsOf {
        empty: "的 了 和 与 或 在 是 我 你 您 他 她 它 们 这 那 个 把 给 到 从 为 对 请 也 都 就 很 吗 吧 呢",
        denies: "不_要 不_用 不_得 不_能 不_可 别 勿 除_了 没_有 无_需",
        denies_all: "",
        harmless: "忘",
        makes: "新 创 建",
        but: "但 而_是",
        links: "是 为 到 成",
        capitals_are_names: false,
    },
    WordsOf {
        empty: "の は が を に へ と で も や か ら ま り す る た て し さ い な こ れ そ あ 私 下 くだ さい",
        denies: "以_外 除_い_て",
        denies_all: "な_い_で し_な_い ま_せ_ん 禁_止",
        harmless: "忘",
        makes: "新 作",
        but: "が",
        links: "は を に の が",
        capitals_are_names: false,
    },
];

const ALL: [Language; LANGUAGES] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Portuguese,
    Language::Italian,
    Language::Dutch,
    Language::Russian,
    Language::Chinese,
    Language::Japanese,
];

/// The fewest words of a text that show that no known language is spoken in it.
const FEWEST_FOREIGN_WORDS: usize = 4;

/// So many words of a text tell its language.
const TELLING_WORDS: usize = 400;

/// What is spoken in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spoken {
    languages: Vec<Language>,
    /// Whether it is in a language of which there are no lists.
    pub(crate) is_foreign: bool,
}

// === impl Language ===

impl Language {
    pub(crate) fn words(self) -> Option<&'static WordsOf> {
        WORDS.get(self.row())
    }

    /// Its row in every table.
    pub(crate) fn row(self) -> usize {
        self as usize
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter()
    }
}

// === impl Spoken ===

impl Spoken {
    /// Tells the languages of a text by the words that mean nothing in it.
    pub(crate) fn of(text: &str) -> Self {
        let lower = crate::normal::lower(text);
        let is_word = |chunk: &&str| !chunk.contains(['@', '/']);
        let words: Vec<&str> = lower
            .split_whitespace()
            .filter(is_word)
            .flat_map(tokens)
            .map(|(_, word)| word)
            .take(TELLING_WORDS)
            .collect();
        let has = |list: &str, word: &str| list.split_ascii_whitespace().any(|listed| listed == word);
        let counts: Vec<(Language, usize)> = ALL
            .into_iter()
            .filter_map(|language| {
                let empty = language.words()?.empty;
                Some((language, words.iter().filter(|word| has(empty, word)).count()))
            })
            .collect();
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let mut languages: Vec<Language> = counts
            .into_iter()
            .filter(|(_, count)| most > 0 && *count == most)
            .map(|(language, _)| language)
            .collect();
        // An order of four words may have no small ones in any language.
        let fewest = if lower.is_ascii() { 2 * FEWEST_FOREIGN_WORDS } else { FEWEST_FOREIGN_WORDS };
        let is_foreign = most == 0 && words.len() >= fewest && !lower.contains(is_unspaced);
        if !languages.contains(&Language::English) {
            // Half of what people ask for they call by its English name.
            languages.push(Language::English);
        }
        Self { languages, is_foreign }
    }

    /// The languages, each of which may be the one.
    pub(crate) fn languages(&self) -> impl Iterator<Item = Language> {
        self.languages.iter().copied()
    }

    /// Whether a capital inside of a sentence begins a name.
    pub(crate) fn capitals_are_names(&self) -> bool {
        !self.is_foreign && self.languages().filter_map(Language::words).all(|words| words.capitals_are_names)
    }
}

/// Whether a word means nothing by itself, in any of the languages that are written with blanks.
pub(crate) fn is_empty_word(word: &str, spoken: &Spoken) -> bool {
    let languages = spoken.languages().filter_map(Language::words);
    languages.into_iter().any(|words| words.empty.split_ascii_whitespace().any(|listed| listed == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_small_words() {
        for (text, language) in [
            ("Please send the report to Bob", Language::English),
            ("Bitte schick den Bericht an Bob", Language::German),
            ("Envoie le rapport à Bob, s'il te plaît", Language::French),
            ("Envía el informe a Bob por favor", Language::Spanish),
            ("Envie o relatório para a Maria", Language::Portuguese),
            ("Invia il rapporto a Bob per favore", Language::Italian),
            ("Stuur het rapport naar Bob", Language::Dutch),
            ("Отправь отчёт Бобу и удали файл", Language::Russian),
            ("请把报告发给张伟", Language::Chinese),
            ("報告書を田中さんに送ってください", Language::Japanese),
        ] {
            let told: Vec<Language> = Spoken::of(text).languages().collect();
            assert!(told.contains(&language) && told.len() < 4, "{text}: {told:?}");
        }
        assert!(Spoken::of("Wyślij raport Bobowi jutro rano").is_foreign);
        assert!(!Spoken::of("Delete notes.txt").is_foreign);
    }
}
