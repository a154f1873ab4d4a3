//! The last labels of host names: what makes a name with a stop in it a host.

/// Those of countries.
const COUNTRIES: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca \
    cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb \
    gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg \
    kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw \
    mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc \
    sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy \
    uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// Those that anybody registers names under, and those kept for examples and inside use.
const GENERIC: &str = "academy agency app art arpa asia audio auto bank bar beer best bid bike biz blog bot build business buzz \
    cafe camp capital care cash casino center chat cheap church city click clinic cloud club coach codes coffee com community \
    company computer cool coop country credit dance date dating deals delivery design dev digital direct directory dog domains \
    download earth edu education email energy engineering estate events example exchange expert express family farm fashion \
    finance fit football foundation fun fund fyi gallery game games garden gift global gmbh gold gov graphics group guide guru \
    health help host hosting hotel house icu inc info ink institute int internal international internet invalid invest jobs \
    land lan law legal life link live llc loan local localhost lol love ltd management market marketing mba media men mil mobi \
    moda money monster mov movie museum name net network news ninja nyc onion one online org page partners parts party pet \
    photo photography photos pics pink pizza plus press pro productions promo pub racing recipes red rent report rest review \
    reviews rip rocks run sale science school security services sex sexy shop shopping show site ski social software solar \
    solutions space stream studio style sucks support surf systems tax team tech technology tel test tips today tools top \
    town toys trade trading training travel tube university vacations ventures video villas vip vote watch web webcam website \
    wiki win wine work works world wtf xxx xyz yoga zip zone";

/// Those in other scripts.
const OTHER_SCRIPTS: &str = "рф рус укр срб бг бел ею мон қаз ελ ευ հայ გე 中国 中國 公司 网络 网址 在线 中文网 商城 香港 台灣 台湾 新加坡 한국 닷컴 닷넷 \
    みんな コム भारत বাংলা ไทย امارات السعودية ایران مصر קום";

/// Whether a name that ends in this label, in lower case, is a host.
pub(crate) fn is_top_level(label: &str) -> bool {
    let listed = |list: &str| list.split_ascii_whitespace().any(|known| known == label);
    match label {
        label if label.starts_with("xn--") => true,
        label if !label.is_ascii() => listed(OTHER_SCRIPTS),
        label if label.len() == 2 => listed(COUNTRIES),
        _ => listed(GENERIC),
    }
}
