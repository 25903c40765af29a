//! Calls to GoBGP's interface, over loopback or a socket of the machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use prost::Message;
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{
    Family, GetBgpRequest, GetBgpResponse, Global, ListPathRequest, ListPathResponse,
    ListPeerRequest, ListPeerResponse, Path, Peer, TableFilter, WatchEventRequest,
    WatchEventResponse, WatchPeers, WatchTable,
};

/// How long an answer that is no stream may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest message that is read. All prefixes of a lost peer come in one.
const LARGEST_MESSAGE_BYTES: usize = 1 << 28;
/// The most peers that are listed.
const MOST_PEERS: usize = 4_096;

const GET_BGP: &str = "/apipb.GobgpApi/GetBgp";
const LIST_PATH: &str = "/apipb.GobgpApi/ListPath";
const LIST_PEER: &str = "/apipb.GobgpApi/ListPeer";
const WATCH_EVENT: &str = "/apipb.GobgpApi/WatchEvent";

/// Where the speaker is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeakerApi {
    Tcp(SocketAddr),
    /// A socket of the machine, which other namespaces see as well.
    Unix(PathBuf),
}

/// A text names no place at which a speaker could be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected an address with a port, as in `127.0.0.1:50051`, or `unix:/run/gobgpd.sock`")]
pub struct ParseSpeakerApiError;

impl FromStr for SpeakerApi {
    type Err = ParseSpeakerApiError;

    fn from_str(text: &str) -> Result<Self, ParseSpeakerApiError> {
        let socket = text.strip_prefix("unix:");
        let path = socket.map(|it| it.strip_prefix("//").unwrap_or(it));
        match path {
            Some(path) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(_) => Err(ParseSpeakerApiError),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| ParseSpeakerApiError),
        }
    }
}

impl fmt::Display for SpeakerApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for SpeakerApi {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Why the speaker is of no use now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpeakerError {
    /// Nobody answers there.
    #[error("nobody answers at {api} ({reason}): is gobgpd running, with --api-hosts={api}?")]
    Unreachable { api: String, reason: String },
    /// It answered something else than was asked for.
    #[error("{api} refused {call}: {reason}")]
    Declined {
        api: String,
        call: &'static str,
        reason: String,
    },
    /// It did not answer in time.
    #[error("{api} does not answer")]
    Silent { api: String },
    /// It ended a stream that has no end.
    #[error("{api} ended what it told of changes")]
    Ended { api: String },
    /// BGP is configured nowhere.
    #[error("gobgpd at {api} runs without BGP: give it a file with [global.config]")]
    WithoutBgp { api: String },
}

/// What is listed comes one by one.
pub type Listed<T> = BoxStream<'static, Result<T, SpeakerError>>;

/// Asks a speaker.
#[derive(Clone, Debug)]
pub struct SpeakerClient {
    channel: Channel,
    api: String,
}

impl SpeakerClient {
    /// Connects when something is asked. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// If the place cannot be written as an address of the interface.
    pub fn new(api: &SpeakerApi) -> Result<Self, SpeakerError> {
        let url = match api {
            SpeakerApi::Tcp(address) => format!("http://{address}"),
            SpeakerApi::Unix(path) => format!("unix:{}", path.display()),
        };
        let endpoint = Endpoint::from_shared(url).map_err(|error| SpeakerError::Unreachable {
            api: api.to_string(),
            reason: innermost(&error),
        })?;
        let channel = endpoint
            .connect_timeout(PATIENCE)
            .tcp_nodelay(true)
            .connect_lazy();
        Ok(Self {
            channel,
            api: api.to_string(),
        })
    }

    /// Returns what the speaker is.
    ///
    /// # Errors
    ///
    /// If it does not say so, or speaks no BGP.
    pub async fn global(&self) -> Result<Global, SpeakerError> {
        let mut grpc = self.ready().await?;
        let codec: ProstCodec<GetBgpRequest, GetBgpResponse> = ProstCodec::default();
        let path = PathAndQuery::from_static(GET_BGP);
        let call = grpc.unary(Request::new(GetBgpRequest {}), path, codec);
        let answer = match timeout(PATIENCE, call).await {
            Ok(answer) => answer.map_err(|status| self.judge(GET_BGP, &status))?,
            Err(_) => return Err(self.silent()),
        };
        let global = answer.into_inner().global.unwrap_or_default();
        match global.as_number {
            0 => Err(SpeakerError::WithoutBgp {
                api: self.api.clone(),
            }),
            _ => Ok(global),
        }
    }

    /// Watches sessions and best paths. Once this returns, no change is missed: what comes
    /// first are the sessions that there are.
    ///
    /// # Errors
    ///
    /// If it does not let itself be watched.
    pub async fn watch(&self) -> Result<Streaming<WatchEventResponse>, SpeakerError> {
        let question = WatchEventRequest {
            peer: Some(WatchPeers {}),
            table: Some(WatchTable {
                filters: vec![TableFilter {}],
            }),
        };
        self.stream(WATCH_EVENT, question).await
    }

    /// Lists all paths of both families.
    #[must_use]
    pub fn paths(&self) -> Listed<Vec<Path>> {
        let families = [Family::IPV4_UNICAST, Family::IPV6_UNICAST];
        let lists = families.map(|family| {
            let question = ListPathRequest {
                family: Some(family),
            };
            let list: Listed<ListPathResponse> = self.list(LIST_PATH, question);
            list.map_ok(|said| said.destination.unwrap_or_default().paths)
        });
        stream::iter(lists).flatten().boxed()
    }

    /// Lists the peers.
    ///
    /// # Errors
    ///
    /// If the speaker does not say so.
    pub async fn peers(&self) -> Result<Vec<Peer>, SpeakerError> {
        let list: Listed<ListPeerResponse> = self.list(LIST_PEER, ListPeerRequest {});
        let peers = list.try_filter_map(|said| async { Ok(said.peer) });
        let peers = peers.take(MOST_PEERS).try_collect();
        match timeout(PATIENCE, peers).await {
            Ok(peers) => peers,
            Err(_) => Err(self.silent()),
        }
    }

    fn list<Q, A>(&self, call: &'static str, question: Q) -> Listed<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let client = self.clone();
        let open = async move {
            let stream: Streaming<A> = client.stream(call, question).await?;
            Ok::<_, SpeakerError>(stream.map_err(move |status| client.judge(call, &status)))
        };
        stream::once(open).try_flatten().boxed()
    }

    async fn stream<Q, A>(
        &self,
        call: &'static str,
        question: Q,
    ) -> Result<Streaming<A>, SpeakerError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.ready().await?;
        let codec: ProstCodec<Q, A> = ProstCodec::default();
        let path = PathAndQuery::from_static(call);
        let opened = grpc.server_streaming(Request::new(question), path, codec);
        match timeout(PATIENCE, opened).await {
            Ok(opened) => Ok(opened
                .map_err(|status| self.judge(call, &status))?
                .into_inner()),
            Err(_) => Err(self.silent()),
        }
    }

    async fn ready(&self) -> Result<Grpc<Channel>, SpeakerError> {
        let grpc = Grpc::new(self.channel.clone());
        let mut grpc = grpc.max_decoding_message_size(LARGEST_MESSAGE_BYTES);
        match timeout(PATIENCE, grpc.ready()).await {
            Ok(Ok(())) => Ok(grpc),
            Ok(Err(error)) => Err(SpeakerError::Unreachable {
                api: self.api.clone(),
                reason: innermost(&error),
            }),
            Err(_) => Err(self.silent()),
        }
    }

    /// Tells what a status means.
    pub fn judge(&self, call: &'static str, status: &Status) -> SpeakerError {
        let api = self.api.clone();
        match std::error::Error::source(status) {
            Some(error) => SpeakerError::Unreachable {
                api,
                reason: innermost(error),
            },
            None => SpeakerError::Declined {
                api,
                call: call.rsplit('/').next().unwrap_or(call),
                reason: status.message().to_owned(),
            },
        }
    }

    /// Tells what it means that a watch broke off.
    pub fn broken_watch(&self, status: &Status) -> SpeakerError {
        self.judge(WATCH_EVENT, status)
    }

    /// Tells that a watch ended.
    pub fn ended(&self) -> SpeakerError {
        SpeakerError::Ended {
            api: self.api.clone(),
        }
    }

    fn silent(&self) -> SpeakerError {
        SpeakerError::Silent {
            api: self.api.clone(),
        }
    }
}

/// Returns the reason behind all reasons.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speaker_is_at_an_address_or_at_a_socket_and_nowhere_else() {
        for (text, is) in [
            ("127.0.0.1:50051", "127.0.0.1:50051"),
            ("[::1]:50051", "[::1]:50051"),
            ("unix:/run/gobgpd.sock", "unix:/run/gobgpd.sock"),
            ("unix:///run/gobgpd.sock", "unix:/run/gobgpd.sock"),
        ] {
            assert_eq!(text.parse::<SpeakerApi>().unwrap().to_string(), is);
        }
        for text in [
            "",
            "127.0.0.1",
            "localhost:50051",
            "unix:run",
            "http://[::1]:1",
            "unix:",
        ] {
            assert_eq!(
                text.parse::<SpeakerApi>(),
                Err(ParseSpeakerApiError),
                "{text}"
            );
        }
    }
}
