//! Numbers and sums of money in a text.

/// Words and signs of currencies.
const CURRENCIES: &[&str] = &[
    "$", "€", "£", "¥", "₹", "₽", "dollar", "dollars", "euro", "euros", "pound", "pounds", "usd", "eur",
    "gbp", "chf", "jpy", "cny", "yen", "yuan", "rub", "bucks", "元", "円",
];

/// Every number of a text in lower case; those that are sums of money; those with exactly two decimals.
pub(crate) fn numbers(lower: &str) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut all, mut sums, mut exact) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = lower;
    let mut offset = 0;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let from = offset + start;
        let digits_on = lower.get(from..).unwrap_or_default();
        let length = digits_on
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',')
            .unwrap_or(digits_on.len());
        let written = digits_on.get(..length).unwrap_or_default().trim_end_matches(['.', ',']);
        let before = lower.get(..from).unwrap_or_default();
        let after = digits_on.get(written.len()..).unwrap_or_default();
        if !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            && let Some((number, decimals)) = value(written)
        {
            let near = |word: &str| {
                before.trim_end().ends_with(word)
                    || after
                        .trim_start()
                        .strip_prefix(word)
                        .is_some_and(|next| !next.starts_with(char::is_alphanumeric))
            };
            if decimals == 2 || CURRENCIES.iter().any(|currency| near(currency)) {
                sums.push(number);
            }
            if decimals == 2 {
                exact.push(number);
            }
            all.push(number);
        }
        offset = from + length.max(1);
        rest = lower.get(offset..).unwrap_or_default();
    }
    (all, sums, exact)
}

/// A number as people write it, with its count of decimals: `1,234.50`, `1.234,50`, `12`.
pub(crate) fn value(written: &str) -> Option<(f64, usize)> {
    let last = written.rfind(['.', ',']);
    let (whole, decimals) = match last {
        Some(at) => {
            let decimals = written.get(at + 1..)?;
            let mark = written.get(at..=at)?;
            let is_group = decimals.len() == 3 && (mark == "," || written.matches(mark).count() > 1);
            if is_group { (written, "") } else { (written.get(..at)?, decimals) }
        }
        None => (written, ""),
    };
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    format!("{digits}.{decimals}0").parse().ok().map(|number| (number, decimals.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let (all, sums, exact) = numbers("pay 1,234.50 or 1.234,50 to x7 by 12, 30 euros or $5.");
        assert_eq!(all, [1234.5, 1234.5, 12.0, 30.0, 5.0]);
        assert_eq!(sums, [1234.5, 1234.5, 30.0, 5.0]);
        assert_eq!(exact, [1234.5, 1234.5]);
    }
}
