//! JSON whose every value knows where it stands, so that a mistake can be shown
//! at its place in a file of any size. Nothing is copied before it is needed.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::{Decimal, NumberFlaw, Rounding};
use crate::Mistake;
use crate::mistake::{nearest, quote};
use crate::problem::{Problems, TextSpan};

/// A value as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    text: &'a str,
    raw: &'a RawValue,
}

/// An object: its values by their keys, and what it is called in messages.
#[derive(Debug)]
pub(super) struct Object<'a> {
    pub(super) name: String,
    value: Value<'a>,
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
}

/// Reads the object that a whole text is.
pub(super) fn top<'a>(text: &'a str, problems: &mut Problems) -> Option<Object<'a>> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => Value { text, raw }.object("the file", problems),
        Err(error) => {
            let at = offset(text, error.line(), error.column());
            let message = format!("no JSON: {error}");
            problems.report(at..at, Mistake::Syntax { message });
            None
        }
    }
}

impl<'a> Value<'a> {
    /// Returns the value as it is written.
    pub(super) fn written(self) -> &'a str {
        self.raw.get()
    }

    /// Returns where the value stands, in bytes of the text.
    pub(super) fn place(self) -> TextSpan {
        let begin = self.written().as_ptr().addr() - self.text.as_ptr().addr();
        begin..begin + self.written().len()
    }

    /// Notes a mistake at the value, which messages call `name`.
    pub(super) fn report(self, name: &str, mistake: Mistake, problems: &mut Problems) {
        let place = name.to_owned();
        let mistake = Box::new(mistake);
        problems.report_with(self.place(), || Mistake::At { place, mistake });
    }

    /// Returns the object that the value has to be.
    pub(super) fn object(self, name: &str, problems: &mut Problems) -> Option<Object<'a>> {
        let Fields(fields) = self.read(name, "an object", problems)?;
        let value = |raw| Value {
            text: self.text,
            raw,
        };
        let mut object = Object {
            name: name.to_owned(),
            value: self,
            fields: Vec::with_capacity(fields.len()),
        };
        for (key, raw) in fields {
            let (again, first) = (value(raw), object.find(&key));
            match first {
                None => object.fields.push((key, again)),
                Some(first) => {
                    let first = first.place();
                    let (what, name) = ("key", quote(&key));
                    again.report(&object.name, Mistake::Twice { what, name, first }, problems);
                }
            }
        }
        Some(object)
    }

    /// Returns the elements of the list that the value has to be.
    pub(super) fn list(self, name: &str, problems: &mut Problems) -> Option<Vec<Self>> {
        let raws: Vec<&RawValue> = self.read(name, "a list", problems)?;
        let values = raws.into_iter().map(|raw| Value {
            text: self.text,
            raw,
        });
        Some(values.collect())
    }

    /// Returns the text that the value has to be.
    pub(super) fn string(self, name: &str, problems: &mut Problems) -> Option<String> {
        self.read(name, "a text in quotes", problems)
    }

    /// Returns the truth that the value has to be.
    pub(super) fn truth(self, name: &str, problems: &mut Problems) -> Option<bool> {
        self.read(name, "true or false", problems)
    }

    /// Returns how many units of `10^-places` the number is that the value has to
    /// be.
    pub(super) fn count(
        self,
        name: &str,
        places: i64,
        rounding: Rounding,
        problems: &mut Problems,
    ) -> Option<u64> {
        let number = Decimal::parse(self.written());
        match number.and_then(|number| number.count(places, [1, 1], rounding)) {
            Ok(count) => Some(count),
            Err(flaw) => {
                self.report(name, no_number(flaw, self), problems);
                None
            }
        }
    }

    fn read<T: Deserialize<'a>>(
        self,
        name: &str,
        expected: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        let read = serde_json::from_str(self.written());
        if read.is_err() {
            let (expected, found) = (expected.to_owned(), self.kind());
            self.report(name, Mistake::WrongType { expected, found }, problems);
        }
        read.ok()
    }

    /// Returns what the value is, in a word.
    pub(super) fn kind(self) -> &'static str {
        match self.written().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a text",
            Some(b't' | b'f') => "a truth",
            Some(b'n') => "null",
            Some(_) | None => "a number",
        }
    }
}

impl<'a> Object<'a> {
    /// Returns whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Returns the value of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.find(key)
    }

    /// Returns the value of a key that has to be there; `about` says what it is.
    pub(super) fn need(
        &self,
        key: &'static str,
        about: &str,
        problems: &mut Problems,
    ) -> Option<Value<'a>> {
        let found = self.find(key);
        if found.is_none() {
            let (table, about) = (self.name.clone(), about.to_owned());
            problems.report_with(self.start(), || Mistake::MissingKey { key, table, about });
        }
        found
    }

    /// Refuses every key but those of `known` and, without a word on them, those
    /// of `ignored`.
    pub(super) fn refuse_others(&self, known: &[&str], ignored: &[&str], problems: &mut Problems) {
        for (key, value) in &self.fields {
            let key = key.as_ref();
            if known.contains(&key) || ignored.contains(&key) {
                continue;
            }
            problems.report_with(value.place(), || Mistake::UnknownKey {
                key: quote(key),
                table: self.name.clone(),
                nearest: nearest(key, known.iter().copied()),
                known: known.join(", "),
            });
        }
    }

    /// Notes a mistake of the object as a whole.
    pub(super) fn report(&self, mistake: Mistake, problems: &mut Problems) {
        let mistake = Box::new(mistake);
        let place = self.name.clone();
        problems.report_with(self.start(), || Mistake::At { place, mistake });
    }

    /// Returns where the object begins: a label under all of it helps nobody.
    pub(super) fn start(&self) -> TextSpan {
        let begin = self.value.place().start;
        begin..begin + 1
    }

    fn find(&self, key: &str) -> Option<Value<'a>> {
        let found = self.fields.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| *value)
    }
}

fn no_number(flaw: NumberFlaw, value: Value<'_>) -> Mistake {
    let (least, most) = ("0".to_owned(), "18e12".to_owned());
    match flaw {
        NumberFlaw::NotANumber => Mistake::WrongType {
            expected: "a number".to_owned(),
            found: value.kind(),
        },
        NumberFlaw::Negative | NumberFlaw::TooLarge => Mistake::OutOfRange {
            value: quote(value.written()),
            least,
            most,
        },
    }
}

/// The fields of an object in their order, the same key more than once included.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(ObjectKey(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Collect).map(Self)
    }
}

/// A key, borrowed from the text unless it is written with escapes.
#[derive(Deserialize)]
struct ObjectKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the byte at which a line and a column are, both counted from one.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let begin: usize = lines.map(str::len).sum();
    let mut at = (begin + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
