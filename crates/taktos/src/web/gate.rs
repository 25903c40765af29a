//! Who may ask: on a loopback address everybody on this machine, elsewhere those who
//! show a token.
//!
//! A loopback address is open, but not to the web: a page in a browser of this
//! machine could send requests there, or have its own name resolve to it. So a
//! request has to be addressed to this machine by its own name, and one that a
//! browser sends for a page has to come from the same address.

pub mod tokens;

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use clap::ValueEnum;
use controller::northbound::Asker;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::tokens::Tokens;
use super::problem::Problem;

/// What a client may do. The later may do what the earlier may.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    ValueEnum,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Look at everything.
    Read,
    /// Admit and withdraw flows, change intents and hosts.
    Operate,
    /// Change settings and applications, read the audit log.
    Administer,
}

impl Role {
    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Administer => "administer",
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that the audit log shows.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// As whom it asks the controller.
    pub asker: Asker,
}

impl Caller {
    /// Returns whoever asks without a token on this machine, where everybody may do this.
    #[must_use]
    pub fn local(role: Role) -> Self {
        Self {
            name: "local".to_owned(),
            role,
            asker: Asker::Operator,
        }
    }

    /// Checks that it may do what takes this role.
    ///
    /// # Errors
    ///
    /// If it may not.
    pub fn check(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        let (name, role, needed) = (&self.name, self.role.name(), needed.name());
        let message = format!("{name} may {role}, and this takes the role {needed}");
        Err(Problem::new(StatusCode::FORBIDDEN, "role", message)
            .help("ask for a token with that role"))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(Problem::fault)
    }
}

/// Who is let in.
#[derive(Debug)]
pub enum Gate {
    /// Everybody on this machine, who may do this.
    Loopback(Role),
    /// Those who show one of these tokens.
    Tokens(Tokens),
}

impl Gate {
    /// Returns who asks.
    ///
    /// # Errors
    ///
    /// If that is nobody who may.
    pub fn admit(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        match self {
            Self::Loopback(role) => {
                check_host(headers)?;
                check_origin(headers)?;
                Ok(Caller::local(*role))
            }
            Self::Tokens(tokens) => {
                let token = bearer(headers)?;
                let unknown = || {
                    unauthorized("this token is not known")
                        .help("`taktos controller token NAME ROLE --tokens FILE` makes one")
                };
                tokens.find(token).ok_or_else(unknown)
            }
        }
    }
}

/// Checks that a request is addressed to one host: of two, somebody on the way may have
/// believed the other one (RFC 9112 section 3.2).
///
/// # Errors
///
/// If it has several `Host` headers.
pub fn check_addressed(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get_all(HOST).iter().count() {
        0 | 1 => Ok(()),
        _ => Err(Problem::bad("several-hosts", "it has several Host headers").help("send one")),
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let none = || {
        unauthorized("this needs a token")
            .help("send it in a header: `Authorization: Bearer TOKEN`")
    };
    let given = headers.get(AUTHORIZATION).ok_or_else(none)?;
    let text = given.to_str().map_err(|_| none())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(none)?;
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(token.trim()),
        false => Err(none()),
    }
}

fn unauthorized(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
}

/// Checks that a request is addressed to this machine by a name of its own.
fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(host) = text_of(headers, &HOST) else {
        return Ok(());
    };
    match is_loopback(host) {
        true => Ok(()),
        false => {
            let message =
                format!("this is not {host}: a loopback address is asked by its own name");
            Err(Problem::new(StatusCode::FORBIDDEN, "foreign-host", message)
                .help("use http://127.0.0.1 or http://localhost"))
        }
    }
}

/// Checks that no page of another site has a browser send this.
fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let host = text_of(headers, &HOST).unwrap_or_default();
    let from_elsewhere = match headers.get(ORIGIN).map(|origin| origin.to_str()) {
        Some(Ok(origin)) => origin.split_once("://").is_none_or(|(_, it)| it != host),
        Some(Err(_)) => true,
        None => false,
    };
    let site = text_of(headers, &HeaderName::from_static("sec-fetch-site"));
    let for_another_site = site.is_some_and(|site| site != "same-origin" && site != "none");
    match from_elsewhere || for_another_site {
        false => Ok(()),
        true => {
            let message = "a page of another site may not ask this controller";
            Err(
                Problem::new(StatusCode::FORBIDDEN, "foreign-origin", message)
                    .help("ask from a program, or from a page of the controller itself"),
            )
        }
    }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// Tells whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        match port.bytes().all(|digit| digit.is_ascii_digit()) {
            true => name,
            false => host,
        }
    });
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn asked(headers: &[(&'static str, &'static str)]) -> Result<Caller, &'static str> {
        let pairs = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        Gate::Loopback(Role::Operate)
            .admit(&pairs.collect())
            .map_err(|problem| problem.code())
    }

    #[test]
    fn programs_of_this_machine_are_let_in() {
        for host in [
            "127.0.0.1:8181",
            "localhost:8181",
            "LOCALHOST",
            "[::1]:8181",
            "[::1]",
            "127.3.2.1",
        ] {
            let local = Ok(Caller::local(Role::Operate));
            assert_eq!(asked(&[("host", host)]), local, "{host}");
        }
    }

    #[test]
    fn a_name_that_somebody_made_resolve_to_this_machine_is_refused() {
        for host in [
            "evil.example:8181",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "10.0.0.1",
        ] {
            assert_eq!(asked(&[("host", host)]), Err("foreign-host"), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_site_is_refused_and_one_of_ours_is_not() {
        let host = ("host", "127.0.0.1:8181");

        let own = asked(&[host, ("origin", "http://127.0.0.1:8181")]);
        let other = asked(&[host, ("origin", "https://evil.example")]);
        let other_port = asked(&[host, ("origin", "http://127.0.0.1:9999")]);
        let sandboxed = asked(&[host, ("origin", "null")]);
        let image = asked(&[host, ("sec-fetch-site", "cross-site")]);

        assert_eq!(own, Ok(Caller::local(Role::Operate)));
        for refused in [other, other_port, sandboxed, image] {
            assert_eq!(refused, Err("foreign-origin"));
        }
    }

    #[test]
    fn a_request_to_two_hosts_is_to_none() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("127.0.0.1"));
        let one = check_addressed(&headers);
        headers.append(HOST, HeaderValue::from_static("evil.example"));

        let two = check_addressed(&headers);

        assert_eq!(one, Ok(()));
        assert_eq!(two.unwrap_err().status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn a_role_may_what_lower_roles_may_and_no_more() {
        let operator = Caller::local(Role::Operate);

        assert_eq!(operator.check(Role::Read), Ok(()));
        assert_eq!(operator.check(Role::Operate), Ok(()));
        assert_eq!(operator.check(Role::Administer).unwrap_err().code(), "role");
    }
}
