//! What stands behind the `?` of a request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::body::suggestion;
use super::problem::Problem;

/// The parameters of a request, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.query().unwrap_or_default()))
    }
}

impl Query {
    /// Reads what stands behind the `?`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            pairs: form_urlencoded::parse(text.as_bytes())
                .into_owned()
                .collect(),
        }
    }

    /// Checks that there are no others than these.
    ///
    /// # Errors
    ///
    /// If there are.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let mut names = self.pairs.iter().map(|(name, _)| name.as_str());
        let Some(unknown) = names.find(|name| !known.contains(name)) else {
            return Ok(());
        };
        let message = format!("there is no parameter `{unknown}` here");
        let help = match suggestion(unknown, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if known.is_empty() => "this takes no parameters".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        };
        Err(Problem::bad("unknown-parameter", message).help(help))
    }

    /// Returns all values of a parameter.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let named = self.pairs.iter().filter(move |(it, _)| it == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the value of a parameter that may be given once.
    ///
    /// # Errors
    ///
    /// If it is given more often.
    pub fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut named = self.pairs.iter().filter(|(it, _)| it == name);
        let first = named.next().map(|(_, value)| value.as_str());
        match named.next() {
            None => Ok(first),
            Some(_) => Err(unusable(name, "it is given twice")),
        }
    }

    /// Returns whether a parameter says so; it does not if it is not there.
    ///
    /// # Errors
    ///
    /// If it says neither.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.one(name)? {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(_) => Err(unusable(name, "expected `true` or `false`")),
        }
    }

    /// Returns a number, if it is there.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let text = self.one(name)?;
        let number = text.map(|text| {
            text.parse()
                .map_err(|_| unusable(name, "expected a number"))
        });
        number.transpose()
    }
}

fn unusable(name: &str, reason: &str) -> Problem {
    Problem::bad("unusable-value", format!("{name}: {reason}"))
        .help("/api/v1/openapi.json shows what is expected")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_nobody_knows_is_refused_with_the_nearest_one() {
        let known = ["dry_run", "together"];

        let problem = Query::of("dry_rum=true").only(&known).unwrap_err();

        assert_eq!(problem.body().help.unwrap(), "did you mean `dry_run`?");
        assert_eq!(Query::of("together").only(&known), Ok(()));
    }

    #[test]
    fn a_flag_is_one_of_two_words_and_given_once() {
        assert_eq!(Query::of("a=true").flag("a"), Ok(true));
        assert_eq!(Query::of("a").flag("a"), Ok(true));
        assert_eq!(Query::of("").flag("a"), Ok(false));
        assert!(Query::of("a=yes").flag("a").is_err());
        assert!(Query::of("a=true&a=false").flag("a").is_err());
    }
}
