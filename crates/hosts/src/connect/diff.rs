//! What a change does to a file, line by line, for people to look at before it is made.

/// Lines around a change that are shown.
const CONTEXT: usize = 2;

/// Beyond this many comparisons the changed middle is shown as a whole.
const MAX_COMPARISONS: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Removed,
    Added,
}

/// The change of a file in the unified form, empty where there is none. Secrets are shown as `…`.
pub fn preview(file: &str, before: Option<&str>, after: Option<&str>, secrets: &[&str]) -> String {
    if before == after {
        return String::new();
    }
    let old: Vec<&str> = before.unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.unwrap_or_default().lines().collect();
    let lines = compare(&old, &new);
    let mut out = String::new();
    let name = |contents: Option<&str>| if contents.is_some() { file } else { "(no file)" };
    out.push_str(&format!("--- {}\n+++ {}\n", name(before), name(after)));
    for hunk in hunks(&lines) {
        let count = |mark: Mark, lines: &[(Mark, &str)]| {
            lines.iter().filter(|(found, _)| *found == Mark::Same || *found == mark).count()
        };
        let (ahead, shown) =
            (lines.get(..hunk.start).unwrap_or_default(), lines.get(hunk).unwrap_or_default());
        out.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            count(Mark::Removed, ahead) + 1,
            count(Mark::Removed, shown),
            count(Mark::Added, ahead) + 1,
            count(Mark::Added, shown)
        ));
        for (mark, line) in shown {
            let sign = match mark {
                Mark::Same => ' ',
                Mark::Removed => '-',
                Mark::Added => '+',
            };
            let hidden = secrets.iter().filter(|secret| !secret.is_empty());
            let line = hidden.fold((*line).to_owned(), |line, secret| line.replace(secret, "…"));
            out.push_str(&format!("{sign}{line}\n"));
        }
    }
    out
}

/// The runs of lines that are shown.
fn hunks(lines: &[(Mark, &str)]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    let changed = lines.iter().enumerate().filter(|(_, (mark, _))| *mark != Mark::Same);
    for (index, _) in changed {
        let (start, end) = (index.saturating_sub(CONTEXT), (index + CONTEXT + 1).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let ahead = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(ahead..).unwrap_or_default(), new.get(ahead..).unwrap_or_default());
    let behind = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&'a str]| lines.get(..lines.len() - behind).unwrap_or_default().to_vec();
    let same = |lines: &[&'a str]| lines.iter().map(|line| (Mark::Same, *line)).collect::<Vec<_>>();
    let mut out = same(old.get(..ahead).unwrap_or_default());
    out.extend(compare_middle(&middle(old_rest), &middle(new_rest)));
    out.extend(same(old_rest.get(old_rest.len() - behind..).unwrap_or_default()));
    out
}

/// A longest common subsequence, by the table of lengths.
fn compare_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let mut out = Vec::new();
    let (mut left, mut right) = (0, 0);
    if old.len().saturating_mul(new.len()) <= MAX_COMPARISONS {
        let width = new.len() + 1;
        let mut lengths = vec![0_u32; (old.len() + 1) * width];
        let at = |lengths: &[u32], row: usize, column: usize| {
            lengths.get(row * width + column).copied().unwrap_or_default()
        };
        for row in (0..old.len()).rev() {
            for column in (0..new.len()).rev() {
                let length = if old.get(row) == new.get(column) {
                    at(&lengths, row + 1, column + 1) + 1
                } else {
                    at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
                };
                if let Some(cell) = lengths.get_mut(row * width + column) {
                    *cell = length;
                }
            }
        }
        while let (Some(from), Some(to)) = (old.get(left), new.get(right)) {
            if from == to {
                out.push((Mark::Same, *from));
                (left, right) = (left + 1, right + 1);
            } else if at(&lengths, left + 1, right) >= at(&lengths, left, right + 1) {
                out.push((Mark::Removed, *from));
                left += 1;
            } else {
                out.push((Mark::Added, *to));
                right += 1;
            }
        }
    }
    out.extend(old.get(left..).unwrap_or_default().iter().map(|line| (Mark::Removed, *line)));
    out.extend(new.get(right..).unwrap_or_default().iter().map(|line| (Mark::Added, *line)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nb\nc\nd\nX tok-1\nf\ng\nh\n";
        let shown = preview("~/x", Some(before), Some(after), &["tok-1", ""]);
        assert_eq!(shown, "--- ~/x\n+++ ~/x\n@@ -3,5 +3,6 @@\n c\n d\n-e\n+X …\n f\n g\n+h\n");
    }

    #[test]
    fn a_new_file_and_no_change() {
        assert_eq!(preview("f", None, Some("x\n"), &[]), "--- (no file)\n+++ f\n@@ -1,0 +1,1 @@\n+x\n");
        assert_eq!(preview("f", Some("x"), Some("x"), &[]), "");
    }

    #[test]
    fn lines_far_apart_are_shown_apart() {
        let old: Vec<String> = (0..40).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[3] = "three".into();
        new.insert(30, "more".into());
        let shown = preview("f", Some(&old.join("\n")), Some(&new.join("\n")), &[]);
        assert_eq!(shown.matches("@@ -").count(), 2);
        assert!(
            shown.contains("@@ -2,5 +2,5 @@\n 1\n 2\n-3\n+three\n 4\n 5\n@@ -29,4 +29,5 @@\n"),
            "{shown}"
        );
    }
}
