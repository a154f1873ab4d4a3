//! Tables: columns line up, and a table that is wider than the terminal has cells of several lines.

use super::wrap::wrap;
use super::{Style, View};

/// What stands between two columns.
const GAP: &str = "  ";
/// The longest word of a cell for which its column makes room. Ids and keys are shorter; longer paths are cut.
const LONGEST_WORD: usize = 44;

/// A table.
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// What stands in one place of a table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

// === impl Cell ===

impl Cell {
    /// Text in the colour of its meaning.
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self { text: text.into(), style }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, style: Style::Plain }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

// === impl Table ===

impl Table {
    /// A table with these heads, all in small letters as in every table.
    pub(crate) fn new<'a>(heads: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rows: vec![heads.into_iter().map(|head| Cell::styled(Style::Heading, head)).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as it is shown.
    pub(crate) fn text(&self, view: View) -> String {
        let widths = self.widths(view.width);
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| match view.width {
                    Some(_) => wrap(&cell.text, *width, 0).lines().map(|line| cut(line, *width)).collect(),
                    None => vec![cell.text.clone()],
                })
                .collect();
            for number in 0..cells.iter().map(Vec::len).max().unwrap_or(0).max(1) {
                let mut line = String::new();
                // Blanks are put in front of what follows, so that no line ends with them.
                let mut missing = 0;
                for ((lines, cell), width) in cells.iter().zip(row).zip(&widths) {
                    let part = lines.get(number).map(String::as_str).unwrap_or_default();
                    if !part.is_empty() {
                        line.push_str(&" ".repeat(missing));
                        line.push_str(&view.paint(cell.style, part));
                        missing = 0;
                    }
                    missing += width.saturating_sub(part.chars().count()) + GAP.len();
                }
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    /// How wide each column is, so that the table fits if it can.
    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let longest = |column: usize, measure: &dyn Fn(&str) -> usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| measure(&cell.text)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> =
            (0..count).map(|column| longest(column, &|text| text.chars().count())).collect();
        let Some(room) = room else { return widths };
        let word = |text: &str| {
            text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0).min(LONGEST_WORD)
        };
        let floors: Vec<usize> = (0..count).map(|column| longest(column, &word)).collect();
        let gaps = GAP.len() * count.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            // The column that is widest gives way first.
            let wide = widths.iter_mut().zip(&floors).filter(|(width, floor)| **width > **floor);
            let Some((width, _)) = wide.max_by_key(|(width, _)| **width) else { break };
            *width -= 1;
        }
        widths
    }
}

/// At most so many characters.
fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["server", "approval", "error"]);
        table.row(["mail", "approved (vouched for)", ""]);
        table.row(["time", "not seen yet", "`uvx` was not found on its PATH"]);
        table
    }

    #[test]
    fn a_table_in_a_pipe_has_one_line_a_row() {
        assert_eq!(
            table().text(View::PLAIN),
            "server  approval                error\n\
             mail    approved (vouched for)\n\
             time    not seen yet            `uvx` was not found on its PATH\n"
        );
    }

    #[test]
    fn a_narrow_terminal_has_cells_of_several_lines() {
        let view = View { colour: false, width: Some(44) };
        let text = table().text(view);
        assert_eq!(
            text,
            "server  approval           error\n\
             mail    approved (vouched\n        for)\n\
             time    not seen yet       `uvx` was not\n                           found on its PATH\n"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    }

    #[test]
    fn a_word_that_is_longer_than_any_id_is_cut() {
        let mut table = Table::new(["path", "x"]);
        table.row(["/".repeat(300), "y".to_owned()]);
        let text = table.text(View { colour: false, width: Some(60) });
        let last = text.lines().last().unwrap();
        assert!(last.ends_with("…  y") && last.chars().count() <= 60, "{text}");
        assert!(table.text(View::PLAIN).contains(&"/".repeat(300)), "a program reads all of it");
    }

    #[test]
    fn colour_moves_no_column() {
        let coloured = table().text(View { colour: true, width: None });
        assert!(
            coloured.starts_with("\u{1b}[1mserver\u{1b}[0m  \u{1b}[1mapproval\u{1b}[0m      "),
            "{coloured}"
        );
    }
}
