//! The families of tests that os-ken carries, and the files that hold them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A family of tests, after what they test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Actions but for set-field.
    Action,
    /// The action set-field, for every field.
    SetField,
    /// Matches on every field.
    Match,
    /// Groups of the types all and select.
    Group,
    /// Meters that drop and that remark.
    Meter,
}

impl Family {
    /// Every family, in the order in which they run.
    pub const ALL: [Self; 5] = [
        Self::Action,
        Self::SetField,
        Self::Match,
        Self::Group,
        Self::Meter,
    ];

    /// Returns its name, as the command line and the summary spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::SetField => "set-field",
            Self::Match => "match",
            Self::Group => "group",
            Self::Meter => "meter",
        }
    }

    /// Returns how many cases it has.
    pub fn cases(self) -> usize {
        match self {
            Self::Action => 56,
            Self::SetField => 170,
            Self::Match => 714,
            Self::Group => 15,
            Self::Meter => 36,
        }
    }

    /// Returns the family of the file that calls itself `title`.
    pub fn of_title(title: &str) -> Option<Self> {
        let prefixes = [
            ("action: set_field: ", Self::SetField),
            ("action: ", Self::Action),
            ("match: ", Self::Match),
            ("group: ", Self::Group),
            ("meter: ", Self::Meter),
        ];
        let found = prefixes
            .iter()
            .find(|(prefix, _)| title.starts_with(prefix));
        found.map(|(_, family)| *family)
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::SetField => "action/25_SET_FIELD",
            Self::Match => "match",
            Self::Group => "group",
            Self::Meter => "meter",
        }
    }

    /// Lists its files below `suite`, in order.
    ///
    /// # Errors
    ///
    /// If its folder cannot be read.
    pub fn files(self, suite: &Path) -> Result<Vec<PathBuf>, Failure> {
        let folder = suite.join(self.folder());
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Failure::at(&folder))? {
            let path = entry.map_err(Failure::at(&folder))?.path();
            if path.extension().is_some_and(|it| it == "json") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}
