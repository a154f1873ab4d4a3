//! Characters without a shape that change the shape of their neighbours: joiners and variation selectors, where Unicode
//! says that they do (UAX #31 A1 and A2, UTS #51). At every other place they are hidden.

/// Letters that join to both sides, and so to the one that follows (`Joining_Type` D).
const DUAL_JOINING: [(u32, u32); 38] = [
    (0x620, 0x620),
    (0x626, 0x626),
    (0x628, 0x628),
    (0x62a, 0x62e),
    (0x633, 0x63f),
    (0x641, 0x647),
    (0x649, 0x64a),
    (0x66e, 0x66f),
    (0x678, 0x687),
    (0x69a, 0x6bf),
    (0x6c1, 0x6c2),
    (0x6cc, 0x6cc),
    (0x6ce, 0x6ce),
    (0x6d0, 0x6d1),
    (0x6fa, 0x6fc),
    (0x6ff, 0x6ff),
    (0x712, 0x714),
    (0x71a, 0x71d),
    (0x71f, 0x727),
    (0x729, 0x729),
    (0x72b, 0x72b),
    (0x72d, 0x72e),
    (0x74e, 0x758),
    (0x75c, 0x76a),
    (0x76d, 0x770),
    (0x772, 0x772),
    (0x775, 0x777),
    (0x77a, 0x77f),
    (0x7ca, 0x7ea),
    (0x841, 0x845),
    (0x8a0, 0x8a9),
    (0x8af, 0x8b0),
    (0x8b3, 0x8b8),
    (0x8ba, 0x8c8),
    (0x1820, 0x1878),
    (0x1887, 0x18a8),
    (0x18aa, 0x18aa),
    (0x1_e900, 0x1_e943),
];

/// Letters that join to the one before them alone (`Joining_Type` R).
const RIGHT_JOINING: [(u32, u32); 30] = [
    (0x622, 0x625),
    (0x627, 0x627),
    (0x629, 0x629),
    (0x62f, 0x632),
    (0x648, 0x648),
    (0x671, 0x673),
    (0x675, 0x677),
    (0x688, 0x699),
    (0x6c0, 0x6c0),
    (0x6c3, 0x6cb),
    (0x6cd, 0x6cd),
    (0x6cf, 0x6cf),
    (0x6d2, 0x6d3),
    (0x6d5, 0x6d5),
    (0x6ee, 0x6ef),
    (0x710, 0x710),
    (0x715, 0x719),
    (0x71e, 0x71e),
    (0x728, 0x728),
    (0x72a, 0x72a),
    (0x72c, 0x72c),
    (0x72f, 0x72f),
    (0x74d, 0x74d),
    (0x759, 0x75b),
    (0x76b, 0x76c),
    (0x771, 0x771),
    (0x773, 0x774),
    (0x778, 0x779),
    (0x8aa, 0x8ae),
    (0x8b1, 0x8b2),
];

/// Signs that take the vowel from a letter, so that it joins the next (`Canonical_Combining_Class` 9).
const VIRAMAS: [(u32, u32); 32] = [
    (0x94d, 0x94d),
    (0x9cd, 0x9cd),
    (0xa4d, 0xa4d),
    (0xacd, 0xacd),
    (0xb4d, 0xb4d),
    (0xbcd, 0xbcd),
    (0xc4d, 0xc4d),
    (0xccd, 0xccd),
    (0xd3b, 0xd3c),
    (0xd4d, 0xd4d),
    (0xdca, 0xdca),
    (0x1039, 0x103a),
    (0x1714, 0x1715),
    (0x1734, 0x1734),
    (0x17d2, 0x17d2),
    (0x1a60, 0x1a60),
    (0x1b44, 0x1b44),
    (0x1baa, 0x1bab),
    (0x1bf2, 0x1bf3),
    (0xa806, 0xa806),
    (0xa8c4, 0xa8c4),
    (0xa953, 0xa953),
    (0xa9c0, 0xa9c0),
    (0xabed, 0xabed),
    (0x1_1046, 0x1_1046),
    (0x1_10b9, 0x1_10b9),
    (0x1_1133, 0x1_1134),
    (0x1_11c0, 0x1_11c0),
    (0x1_1235, 0x1_1235),
    (0x1_1442, 0x1_1442),
    (0x1_14c2, 0x1_14c2),
    (0x1_163f, 0x1_163f),
];

/// Where letters of scripts with viramas are.
const WITH_VIRAMA: [(u32, u32); 5] =
    [(0x900, 0xdff), (0x1000, 0x109f), (0x1700, 0x1c4f), (0xa800, 0xabff), (0x1_1000, 0x1_16ff)];

/// Pictures that are letters unless a variation selector makes them pictures (`Emoji`, not `Emoji_Presentation`).
const TEXT_BY_DEFAULT: [(u32, u32); 116] = [
    (0xa9, 0xa9),
    (0xae, 0xae),
    (0x203c, 0x203c),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2194, 0x2199),
    (0x21a9, 0x21aa),
    (0x2328, 0x2328),
    (0x23cf, 0x23cf),
    (0x23ed, 0x23ef),
    (0x23f1, 0x23f2),
    (0x23f8, 0x23fa),
    (0x24c2, 0x24c2),
    (0x25aa, 0x25ab),
    (0x25b6, 0x25b6),
    (0x25c0, 0x25c0),
    (0x25fb, 0x25fc),
    (0x2600, 0x2604),
    (0x260e, 0x260e),
    (0x2611, 0x2611),
    (0x2618, 0x2618),
    (0x261d, 0x261d),
    (0x2620, 0x2620),
    (0x2622, 0x2623),
    (0x2626, 0x2626),
    (0x262a, 0x262a),
    (0x262e, 0x262f),
    (0x2638, 0x263a),
    (0x2640, 0x2640),
    (0x2642, 0x2642),
    (0x265f, 0x2660),
    (0x2663, 0x2663),
    (0x2665, 0x2666),
    (0x2668, 0x2668),
    (0x267b, 0x267b),
    (0x267e, 0x267e),
    (0x2692, 0x2692),
    (0x2694, 0x2697),
    (0x2699, 0x2699),
    (0x269b, 0x269c),
    (0x26a0, 0x26a0),
    (0x26a7, 0x26a7),
    (0x26b0, 0x26b1),
    (0x26c8, 0x26c8),
    (0x26cf, 0x26cf),
    (0x26d1, 0x26d1),
    (0x26d3, 0x26d3),
    (0x26e9, 0x26e9),
    (0x26f0, 0x26f1),
    (0x26f4, 0x26f4),
    (0x26f7, 0x26f9),
    (0x2702, 0x2702),
    (0x2708, 0x2709),
    (0x270c, 0x270d),
    (0x270f, 0x270f),
    (0x2712, 0x2712),
    (0x2714, 0x2714),
    (0x2716, 0x2716),
    (0x271d, 0x271d),
    (0x2721, 0x2721),
    (0x2733, 0x2734),
    (0x2744, 0x2744),
    (0x2747, 0x2747),
    (0x2763, 0x2764),
    (0x27a1, 0x27a1),
    (0x2934, 0x2935),
    (0x2b05, 0x2b07),
    (0x3030, 0x3030),
    (0x303d, 0x303d),
    (0x3297, 0x3297),
    (0x3299, 0x3299),
    (0x1_f170, 0x1_f171),
    (0x1_f17e, 0x1_f17f),
    (0x1_f202, 0x1_f202),
    (0x1_f237, 0x1_f237),
    (0x1_f321, 0x1_f321),
    (0x1_f324, 0x1_f32c),
    (0x1_f336, 0x1_f336),
    (0x1_f37d, 0x1_f37d),
    (0x1_f396, 0x1_f397),
    (0x1_f399, 0x1_f39b),
    (0x1_f39e, 0x1_f39f),
    (0x1_f3cb, 0x1_f3ce),
    (0x1_f3d4, 0x1_f3df),
    (0x1_f3f3, 0x1_f3f3),
    (0x1_f3f5, 0x1_f3f5),
    (0x1_f3f7, 0x1_f3f7),
    (0x1_f43f, 0x1_f43f),
    (0x1_f441, 0x1_f441),
    (0x1_f4fd, 0x1_f4fd),
    (0x1_f549, 0x1_f54a),
    (0x1_f56f, 0x1_f570),
    (0x1_f573, 0x1_f579),
    (0x1_f587, 0x1_f587),
    (0x1_f58a, 0x1_f58d),
    (0x1_f590, 0x1_f590),
    (0x1_f5a5, 0x1_f5a5),
    (0x1_f5a8, 0x1_f5a8),
    (0x1_f5b1, 0x1_f5b2),
    (0x1_f5bc, 0x1_f5bc),
    (0x1_f5c2, 0x1_f5c4),
    (0x1_f5d1, 0x1_f5d3),
    (0x1_f5dc, 0x1_f5de),
    (0x1_f5e1, 0x1_f5e1),
    (0x1_f5e3, 0x1_f5e3),
    (0x1_f5e8, 0x1_f5e8),
    (0x1_f5ef, 0x1_f5ef),
    (0x1_f5f3, 0x1_f5f3),
    (0x1_f5fa, 0x1_f5fa),
    (0x1_f6cb, 0x1_f6cb),
    (0x1_f6cd, 0x1_f6cf),
    (0x1_f6e0, 0x1_f6e5),
    (0x1_f6e9, 0x1_f6e9),
    (0x1_f6f0, 0x1_f6f0),
    (0x1_f6f3, 0x1_f6f3),
];

/// The three flags that are written in tags, behind a black flag: England, Scotland and Wales.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

const BLACK_FLAG: char = '\u{1f3f4}';
const TAG_END: char = '\u{e007f}';

/// Whether the character at this place changes how its neighbours look.
pub(super) fn is_joining(letters: &[char], index: usize) -> bool {
    let Some(&letter) = letters.get(index) else { return false };
    let (before, after) =
        (letters.get(..index).unwrap_or_default(), letters.get(index + 1..).unwrap_or_default());
    match letter {
        '\u{200c}' => breaks_a_join(before, after) || keeps_a_virama(before, after),
        '\u{200d}' => {
            joins_pictures(before, after)
                || shapes_a_letter(before, after)
                || makes_a_half_form(before, after)
        }
        '\u{fe0f}' => makes_a_picture(before, after),
        '\u{fe0e}' => before.last().is_some_and(|base| is_picture(*base) && !within(&TEXT_BY_DEFAULT, *base)),
        // Mongolian letters have forms of which the writer chooses one.
        '\u{180b}'..='\u{180d}' | '\u{180f}' => before.last().is_some_and(|base| is_mongolian(*base)),
        '\u{180e}' => {
            before.last().is_some_and(|base| is_mongolian(*base))
                && matches!(after.first(), Some('\u{1820}' | '\u{1821}'))
        }
        '\u{e0020}'..='\u{e007f}' => is_in_a_flag(letters, index),
        _ => false,
    }
}

/// Keeps two letters apart that would join (UAX #31, A1).
fn breaks_a_join(before: &[char], after: &[char]) -> bool {
    let left = before.iter().rev().find(|letter| !is_transparent(**letter));
    let right = after.iter().find(|letter| !is_transparent(**letter));
    left.is_some_and(|left| within(&DUAL_JOINING, *left)) && right.is_some_and(|right| joins_back(*right))
}

/// Gives a letter the shape that it has before another one, where there is none (UAX #31, B).
fn shapes_a_letter(before: &[char], after: &[char]) -> bool {
    let left = before.iter().rev().find(|letter| !is_transparent(**letter));
    let right = after.iter().find(|letter| !is_transparent(**letter));
    let joins_left = left.is_some_and(|left| within(&DUAL_JOINING, *left));
    joins_left != right.is_some_and(|right| joins_back(*right))
}

/// Shows the virama in place of a conjunct (UAX #31, A2).
fn keeps_a_virama(before: &[char], after: &[char]) -> bool {
    is_after_virama(before) && after.first().is_some_and(|next| within(&WITH_VIRAMA, *next))
}

/// Makes half a letter of one behind which the vowel is taken; or joins the next to it whole, as Bengali and Kannada do
/// with *ra* and Sinhala with letters that touch.
fn makes_a_half_form(before: &[char], after: &[char]) -> bool {
    let touches = match (before.last(), after.first()) {
        (Some('\u{9b0}'), Some('\u{9cd}')) | (Some('\u{cb0}'), Some('\u{ccd}')) => true,
        (Some(base), Some('\u{dca}')) => ('\u{d9a}'..='\u{dc6}').contains(base),
        _ => false,
    };
    touches || is_after_virama(before)
}

fn is_after_virama(before: &[char]) -> bool {
    match before {
        [.., base, virama] => within(&VIRAMAS, *virama) && within(&WITH_VIRAMA, *base),
        _ => false,
    }
}

/// Makes one picture of two (UTS #51; rule GB11 of UAX #29).
fn joins_pictures(before: &[char], after: &[char]) -> bool {
    let base = match before {
        // A variation selector, or the colour of a skin.
        [.., base, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'] => Some(base),
        _ => before.last(),
    };
    base.is_some_and(|base| is_picture(*base)) && after.first().is_some_and(|next| is_picture(*next))
}

/// Makes a picture of a letter; a digit needs the frame of a key behind it.
fn makes_a_picture(before: &[char], after: &[char]) -> bool {
    match before.last() {
        Some('0'..='9' | '#' | '*') => after.first() == Some(&'\u{20e3}'),
        Some(base) => within(&TEXT_BY_DEFAULT, *base),
        None => false,
    }
}

fn is_in_a_flag(letters: &[char], index: usize) -> bool {
    let before = letters.get(..index).unwrap_or_default();
    let Some(flag) = before.iter().rposition(|letter| *letter == BLACK_FLAG) else { return false };
    let tags = letters.get(flag + 1..).unwrap_or_default();
    FLAGS.iter().any(|name| {
        let tag = |letter: u8| char::from_u32(0xe_0000 + u32::from(letter));
        let whole = name.bytes().filter_map(tag).chain([TAG_END]);
        whole.clone().eq(tags.iter().copied().take(name.len() + 1)) && index - flag <= name.len() + 1
    })
}

fn is_picture(letter: char) -> bool {
    matches!(u32::from(letter), 0x231a..=0x231b | 0x23e9..=0x23fa | 0x2600..=0x27bf | 0x1_f000..=0x1_f1e5 | 0x1_f200..=0x1_f3fa | 0x1_f400..=0x1_faff)
        || within(&TEXT_BY_DEFAULT, letter)
        || matches!(u32::from(letter), 0x25fd..=0x25fe | 0x2b1b..=0x2b1c | 0x2b50 | 0x2b55)
}

/// Marks through which letters join as if they were not there.
fn is_transparent(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x610..=0x61a | 0x64b..=0x65f | 0x670 | 0x6d6..=0x6dc | 0x6df..=0x6e4 | 0x6e7..=0x6e8 | 0x6ea..=0x6ed
            | 0x711 | 0x730..=0x74a | 0x8ca..=0x8e1 | 0x8e3..=0x8ff
    )
}

fn joins_back(letter: char) -> bool {
    within(&DUAL_JOINING, letter) || within(&RIGHT_JOINING, letter)
}

fn is_mongolian(letter: char) -> bool {
    ('\u{1820}'..='\u{18aa}').contains(&letter)
}

fn within(table: &[(u32, u32)], letter: char) -> bool {
    let code = u32::from(letter);
    table.iter().any(|(first, last)| (*first..=*last).contains(&code))
}
