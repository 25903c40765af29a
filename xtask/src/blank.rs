//! Blanks what is not code, so that the checks can look at Rust line by line
//! without being misled by a brace in a string or a word in a comment.
//!
//! A lexer for the few tokens that matter: line and block comments, strings,
//! raw strings, characters and lifetimes.

/// Returns `text` with every comment, string and character literal replaced by
/// spaces; every byte that stays keeps its line and its offset in it.
pub fn blank(text: &str) -> String {
    let mut blanker = Blanker {
        left: text,
        out: String::with_capacity(text.len()),
        previous: ' ',
    };
    while !blanker.left.is_empty() {
        blanker.step();
    }
    blanker.out
}

struct Blanker<'a> {
    left: &'a str,
    out: String,
    previous: char,
}

impl Blanker<'_> {
    fn step(&mut self) {
        let literal = self
            .comment()
            .or_else(|| self.raw_string())
            .or_else(|| self.quoted());
        match literal {
            Some(length) => self.blank(length),
            None => self.keep(),
        }
    }

    fn keep(&mut self) {
        if let Some(c) = self.left.chars().next() {
            self.out.push(c);
            self.previous = c;
            self.left = &self.left[c.len_utf8()..];
        }
    }

    fn blank(&mut self, length: usize) {
        let (literal, rest) = self.left.split_at(length);
        let blanks = literal
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        self.out.extend(blanks);
        self.previous = ' ';
        self.left = rest;
    }

    fn comment(&self) -> Option<usize> {
        if self.left.starts_with("//") {
            return Some(self.left.find('\n').unwrap_or(self.left.len()));
        }
        if !self.left.starts_with("/*") {
            return None;
        }
        let mut depth = 0;
        let mut at = 0;
        while at < self.left.len() {
            let rest = &self.left[at..];
            if rest.starts_with("/*") {
                depth += 1;
                at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                at += 2;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
            if depth == 0 {
                break;
            }
        }
        Some(at)
    }

    fn raw_string(&self) -> Option<usize> {
        if is_word(self.previous) {
            return None;
        }
        let prefix = ["r", "br", "cr"]
            .into_iter()
            .find(|it| self.left.starts_with(it))?;
        let after = &self.left[prefix.len()..];
        let hashes = after.len() - after.trim_start_matches('#').len();
        let body = after[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).map_or(body.len(), |at| at + close.len());
        Some(prefix.len() + hashes + 1 + end)
    }

    fn quoted(&self) -> Option<usize> {
        let quote = self.left.chars().next()?;
        match quote {
            '"' => Some(1 + end_of_quoted(&self.left[1..], '"')),
            '\'' => {
                let mut next = self.left[1..].chars();
                let escaped = next.next() == Some('\\');
                let closed = next.next() == Some('\'');
                (escaped || closed).then(|| 1 + end_of_quoted(&self.left[1..], '\''))
            }
            _ => None,
        }
    }
}

fn end_of_quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    body.len()
}

/// Returns whether `c` can stand in an identifier.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::blank;

    #[test]
    fn comments_and_literals_vanish_and_code_stays() {
        for (text, code) in [
            ("let a = 1; // {", "let a = 1;"),
            ("a /* { /* } */ } */ b", "a                   b"),
            (r#"f("}", b"{")"#, "f(   , b   )"),
            (r##"f(r#"}"{"#)"##, "f(        )"),
            (r#"f("a\"}")"#, "f(      )"),
            (
                "match c { '{' => '\\'', _ => 'é' }",
                "match c {     =>     , _ =>      }",
            ),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            (
                "'outer: loop { break 'outer; }",
                "'outer: loop { break 'outer; }",
            ),
            ("let r#fn = bar;", "let r#fn = bar;"),
        ] {
            assert_eq!(blank(text).trim_end(), code, "of {text}");
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "a\n/* b\n c */ d\n\"e\nf\" g";

        let code = blank(text);

        assert_eq!(
            code.lines().map(str::trim).collect::<Vec<_>>(),
            ["a", "", "d", "", "g"]
        );
    }
}
