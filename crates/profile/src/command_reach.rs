//! Which places a command names, besides those below the folder that it runs in.

use super::never_free::lexical;

/// What a text that is run reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What lies below the folder that it runs in, and these places.
    Places(Vec<String>),
    /// Nobody can tell.
    Anywhere,
}

/// The places that a command, a script or a piece of code names. What a shell would make of it is not known here: where it
/// goes up, or makes a name of something else, it may reach anything.
pub fn reach(command: &str, home: Option<&str>) -> Reach {
    let mut places = Vec::new();
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<>[]{}=,:".contains(letter);
    if command.contains(['$', '`', '\\']) {
        return Reach::Anywhere;
    }
    for word in command.split(is_between).filter(|word| !word.is_empty()) {
        if word.split('/').any(|step| step == "..") {
            return Reach::Anywhere;
        }
        if word.starts_with(['/', '~']) {
            match lexical(word, None, home) {
                Some(place) => places.push(place),
                None => return Reach::Anywhere,
            }
        }
    }
    Reach::Places(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(command: &str) -> Option<Vec<String>> {
        match reach(command, Some("/home/ada")) {
            Reach::Places(places) => Some(places),
            Reach::Anywhere => None,
        }
    }

    #[test]
    fn what_stays_in_its_folder_names_no_other_place() {
        for command in
            ["cargo test", "npm run build && npm test", "python -m pytest tests/a.py -k 'b or c'", "make all"]
        {
            assert_eq!(places(command), Some(Vec::new()), "{command}");
        }
    }

    #[test]
    fn other_places_are_found_however_they_are_joined() {
        let other = Some(vec!["/home/ada/src/other".to_owned()]);
        for command in [
            "make -C /home/ada/src/other",
            "cd ~/src/other && make",
            "(cd '/home/ada/src/other'; make)",
            "make --directory=/home/ada/src/other",
            "import os; os.chdir(\"/home/ada/src/other\")",
            "PYTHONPATH=src:/home/ada/src/other/ python a.py",
        ] {
            assert_eq!(places(command), other, "{command}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_anywhere() {
        for command in
            ["make -C ../other", "cd $OLDPWD && make", "sh -c `cat x`", "cd ~kim/src && make", r"cd \/srv"]
        {
            assert_eq!(places(command), None, "{command}");
        }
    }
}
