//! Over which ports a switch asks its neighbours whether they are there, as its user says it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;
use units::Duration;
use wire::bfd::{
    Authentication, AuthenticationKind, Encapsulation, Neighbours, Secret, SessionConfig,
};
use wire::openflow::taktos::PortSession;

use super::port_plan::PortPlan;

/// What the user says of one port: `eth1=1ms*3`, or over IPv4 with the addresses of this end
/// and of the neighbour, `eth1=300ms*3@10.0.0.1-10.0.0.2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BfdChoice {
    interface: String,
    session: SessionConfig,
}

impl FromStr for BfdChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "as in `eth1=1ms*3`, where `eth1` is a port, or over IPv4 \
                    `eth1=300ms*3@10.0.0.1-10.0.0.2`";
        let (interface, rest) = text.split_once('=').ok_or(form)?;
        let (times, ends) = match rest.split_once('@') {
            Some((times, ends)) => (times, Some(ends)),
            None => (rest, None),
        };
        let (interval, multiplier) = times.split_once('*').ok_or(form)?;
        let interval: Duration = interval.parse().map_err(|error| format!("{error}"))?;
        let us = u32::try_from(interval.as_ns() / 1_000).ok();
        let us = us.filter(|us| Duration::from_us((*us).into()) == interval);
        let encapsulation = match ends {
            None => Encapsulation::Ethernet,
            Some(ends) => Encapsulation::Ipv4(neighbours(ends).ok_or(form)?),
        };
        let session = us
            .zip(multiplier.parse().ok())
            .map(|(us, multiplier)| SessionConfig {
                encapsulation,
                desired_min_tx_us: us,
                required_min_rx_us: us,
                detect_multiplier: multiplier,
                authentication: None,
                heart_beat_us: 0,
            });
        let session = session.filter(SessionConfig::is_sound).ok_or(
            "an interval has whole microseconds, 100 µs to 60 s, and is multiplied by 1 to 255",
        )?;
        Ok(Self {
            interface: interface.to_owned(),
            session,
        })
    }
}

fn neighbours(ends: &str) -> Option<Neighbours> {
    let (local, remote) = ends.split_once('-')?;
    let (local, remote) = (local.parse().ok()?, remote.parse().ok()?);
    let is_host = |address: &Ipv4Addr| {
        !(address.is_unspecified() || address.is_multicast() || address.is_broadcast())
    };
    (is_host(&local) && is_host(&remote) && local != remote).then_some(Neighbours { local, remote })
}

/// How sessions prove who speaks: `meticulous-sha1:1:FILE`, with the number of the key and
/// the file that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChoice {
    kind: AuthenticationKind,
    key: u8,
    file: PathBuf,
}

impl FromStr for KeyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let form = "as in `meticulous-sha1:1:FILE`; the other kinds are `sha1` and `password`";
        let (kind, key, file) = parts
            .next()
            .zip(parts.next())
            .zip(parts.next())
            .map(|((kind, key), file)| (kind, key, file))
            .ok_or(form)?;
        let kind = match kind {
            "password" => AuthenticationKind::SimplePassword,
            "sha1" => AuthenticationKind::KeyedSha1,
            "meticulous-sha1" => AuthenticationKind::MeticulousKeyedSha1,
            _ => return Err(form.to_owned()),
        };
        Ok(Self {
            kind,
            key: key
                .parse()
                .map_err(|_| "the number of a key is 0 to 255".to_owned())?,
            file: PathBuf::from(file),
        })
    }
}

/// Why sessions make no sense.
#[derive(Debug, Error)]
pub enum BfdPlanError {
    /// A session over what is no port.
    #[error("BFD for `{0}`, which is none of the ports")]
    WithoutPort(String),
    /// A port is to have two sessions.
    #[error("BFD for `{0}` twice")]
    Twice(String),
    /// A key for no session.
    #[error("a key for BFD, and no session")]
    KeyAlone,
    /// The key cannot be read.
    #[error("cannot read the key of BFD from {}: {reason}", file.display())]
    Unreadable {
        file: PathBuf,
        reason: std::io::Error,
    },
    /// It is too short or too long.
    #[error(
        "the key of BFD in {} has {length} bytes: a password has 1 to 16, a key of SHA-1 1 to 20",
        file.display()
    )]
    Length { file: PathBuf, length: usize },
}

/// Returns the sessions of the ports, all under the same key if there is one.
///
/// # Errors
///
/// If a session is over no port, or the key is of no use.
pub fn plan(
    choices: &[BfdChoice],
    key: Option<&KeyChoice>,
    ports: &[PortPlan],
) -> Result<Vec<PortSession>, BfdPlanError> {
    if choices.is_empty() && key.is_some() {
        return Err(BfdPlanError::KeyAlone);
    }
    let authentication = key.map(read_key).transpose()?;
    let mut sessions: Vec<PortSession> = Vec::new();
    for choice in choices {
        let name = &choice.interface;
        let port = ports.iter().find(|port| port.interface == *name);
        let port = port.ok_or_else(|| BfdPlanError::WithoutPort(name.clone()))?;
        if sessions.iter().any(|session| session.port == port.number) {
            return Err(BfdPlanError::Twice(name.clone()));
        }
        sessions.push(PortSession {
            port: port.number,
            session: SessionConfig {
                authentication,
                ..choice.session
            },
        });
    }
    Ok(sessions)
}

/// Reads a key; the end of the line, if there is one, is not of it.
fn read_key(choice: &KeyChoice) -> Result<Authentication, BfdPlanError> {
    let file = || choice.file.clone();
    let text = fs::read(&choice.file).map_err(|reason| BfdPlanError::Unreadable {
        file: file(),
        reason,
    })?;
    let key = text.strip_suffix(b"\n").unwrap_or(&text);
    let secret = Secret::new(choice.kind, key).ok_or_else(|| BfdPlanError::Length {
        file: file(),
        length: key.len(),
    })?;
    Ok(Authentication {
        kind: choice.kind,
        key: choice.key,
        secret,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::port_plan;

    fn ports() -> Vec<PortPlan> {
        let names = ["a", "9=b"].map(|name| name.parse().unwrap());
        port_plan::plan(&names, None, &[]).unwrap()
    }

    #[test]
    fn a_session_is_bare_or_between_two_addresses() {
        let choices = ["a=1ms*3", "b=300 ms*5@10.0.0.1-10.0.0.2"].map(|it| it.parse().unwrap());

        let sessions = plan(&choices, None, &ports()).unwrap();

        assert_eq!(sessions[0].session.encapsulation, Encapsulation::Ethernet);
        assert_eq!(sessions[0].session.desired_min_tx_us, 1_000);
        assert_eq!(sessions[1].port.0, 9);
        assert_eq!(sessions[1].session.detect_multiplier, 5);
        let ends = Neighbours {
            local: Ipv4Addr::new(10, 0, 0, 1),
            remote: Ipv4Addr::new(10, 0, 0, 2),
        };
        assert_eq!(sessions[1].session.encapsulation, Encapsulation::Ipv4(ends));
    }

    #[test]
    fn what_is_no_session_is_refused() {
        for text in [
            "",
            "a",
            "a=1ms",
            "a=1ms*0",
            "a=1ms*256",
            "a=99us*3",
            "a=61s*3",
            "a=1500ns*3",
            "a=1*3",
            "a=1ms*3@",
            "a=1ms*3@10.0.0.1",
            "a=1ms*3@10.0.0.1-10.0.0.1",
            "a=1ms*3@10.0.0.1-224.0.0.1",
        ] {
            assert!(text.parse::<BfdChoice>().is_err(), "{text}");
        }
        for text in ["", "sha1", "sha1:1", "sha1:256:f", "md5:1:f"] {
            assert!(text.parse::<KeyChoice>().is_err(), "{text}");
        }
        for (choices, reason) in [
            (&["c=1ms*3"][..], "BFD for `c`, which is none of the ports"),
            (&["a=1ms*3", "a=2ms*3"], "BFD for `a` twice"),
        ] {
            let choices: Vec<_> = choices.iter().map(|it| it.parse().unwrap()).collect();
            let refused = plan(&choices, None, &ports()).unwrap_err();
            assert_eq!(refused.to_string(), reason);
        }
    }

    #[test]
    fn a_key_is_read_from_its_file_and_fits_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let choices = ["a=1ms*3".parse().unwrap()];
        let with = |kind: &str, key: &str| {
            fs::write(&file, key).unwrap();
            let choice = format!("{kind}:7:{}", file.display()).parse().unwrap();
            plan(&choices, Some(&choice), &ports())
        };

        let read = with("sha1", "twenty bytes of keys\n").unwrap()[0];
        let read = read.session.authentication.unwrap();
        assert_eq!(
            (read.key, read.secret.bytes()),
            (7, &b"twenty bytes of keys"[..])
        );
        assert!(with("password", "seventeen bytes !").is_err());
        assert!(with("sha1", "\n").is_err());
        let alone = "sha1:1:nowhere".parse().unwrap();
        assert!(plan(&[], Some(&alone), &ports()).is_err());
        assert!(plan(&choices, Some(&alone), &ports()).is_err());
    }
}
