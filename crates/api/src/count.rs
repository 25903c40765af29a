//! How many of something, in words.

use std::fmt;

/// So many things of a name, as in `1 port`, `2 switches`.
#[derive(Clone, Copy, Debug)]
pub struct Count<'a>(pub usize, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, one) = self;
        match (number, one.strip_suffix('y')) {
            (1, _) => write!(f, "1 {one}"),
            (_, Some(stem)) => write!(f, "{number} {stem}ies"),
            (_, None) if one.ends_with("ch") => write!(f, "{number} {one}es"),
            (_, None) => write!(f, "{number} {one}s"),
        }
    }
}
