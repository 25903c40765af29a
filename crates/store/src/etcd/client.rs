//! Calls to the members of an etcd cluster: to one of them, and to the next after one that
//! does not answer.

use std::time::Duration;

use prost::Message;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, ConnectError, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{AuthenticateRequest, AuthenticateResponse};
use super::{EtcdStoreError, EtcdTerms};

/// How often a silent connection is tried.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// The largest answer that is read: a page of the longest records.
const MAX_ANSWER: usize = 1 << 28;

/// Whether a call that failed may have had an effect.
#[derive(Debug)]
pub(super) enum CallError {
    /// It had none, and never will have.
    Without(EtcdStoreError),
    /// It may have had one, or have it later.
    Perhaps(EtcdStoreError),
}

impl From<CallError> for EtcdStoreError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Without(error) | CallError::Perhaps(error) => error,
        }
    }
}

/// The members, and who we are to them.
#[derive(Clone, Debug)]
pub(super) struct Client {
    members: Vec<Channel>,
    /// The member that is asked first.
    current: usize,
    user: Option<(String, String)>,
    token: Option<MetadataValue<Ascii>>,
    patience: Duration,
}

impl Client {
    /// Connects to members when they are first asked something. To be called within a
    /// runtime.
    pub fn new(terms: &EtcdTerms) -> Result<Self, EtcdStoreError> {
        let members = terms.members.iter().map(|url| channel(url, terms));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        if members.is_empty() {
            return Err(EtcdStoreError::NoMember);
        }
        Ok(Self {
            members,
            current: 0,
            user: terms.user.clone(),
            token: None,
            patience: Duration::from_nanos(terms.patience.as_ns()),
        })
    }

    /// How many members there are.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Asks whichever member answers. A question that has an effect goes to another one
    /// only if it had none.
    pub async fn ask<Q, A>(&mut self, path: &'static str, question: Q) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut last = None;
        for _ in 0..self.members.len() {
            match self.ask_member(self.current, path, question.clone()).await {
                Err(CallError::Without(EtcdStoreError::Unreachable { member, reason })) => {
                    self.turn();
                    last = Some(EtcdStoreError::Unreachable { member, reason });
                }
                Err(CallError::Perhaps(error)) => {
                    self.turn();
                    return Err(CallError::Perhaps(error));
                }
                answer => return answer,
            }
        }
        Err(CallError::Without(last.unwrap_or(EtcdStoreError::NoMember)))
    }

    /// Asks what has no effect: of each member, if need be.
    pub async fn read<Q, A>(&mut self, path: &'static str, question: Q) -> Result<A, EtcdStoreError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut answer = self.ask(path, question.clone()).await;
        for _ in 1..self.members.len() {
            if !matches!(answer, Err(CallError::Perhaps(_))) {
                break;
            }
            answer = self.ask(path, question.clone()).await;
        }
        Ok(answer?)
    }

    /// Asks one member.
    pub async fn ask_member<Q, A>(
        &mut self,
        member: usize,
        path: &'static str,
        question: Q,
    ) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let answer = self.try_member(member, path, question.clone()).await;
        match answer {
            Err(CallError::Without(EtcdStoreError::Stranger { .. })) if self.user.is_some() => {
                self.token = None;
                self.try_member(member, path, question).await
            }
            answer => answer,
        }
    }

    async fn try_member<Q, A>(
        &mut self,
        member: usize,
        path: &'static str,
        question: Q,
    ) -> Result<A, CallError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.introduce(member).await?;
        let request = self.request(question);
        let call = unary(self.members[member].clone(), member, path, request);
        self.limited(member, call).await
    }

    /// Opens a stream of answers from the current member.
    pub async fn stream<Q, A>(
        &mut self,
        path: &'static str,
        questions: impl futures_util::Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, EtcdStoreError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let member = self.current;
        self.introduce(member).await?;
        let mut grpc =
            Grpc::new(self.members[member].clone()).max_decoding_message_size(MAX_ANSWER);
        let request = self.request(questions);
        let opening = async {
            grpc.ready()
                .await
                .map_err(|error| unreachable(member, &error))?;
            let path = PathAndQuery::from_static(path);
            let codec: ProstCodec<Q, A> = ProstCodec::default();
            let opened = grpc.streaming(request, path, codec).await;
            opened.map_err(|status| EtcdStoreError::from(judge(member, &status)))
        };
        match timeout(self.patience, opening).await {
            Ok(opened) => Ok(opened?.into_inner()),
            Err(_) => Err(EtcdStoreError::Silent { member }),
        }
    }

    /// Waits for an answer as long as there is patience.
    async fn limited<A>(
        &self,
        member: usize,
        call: impl Future<Output = Result<A, CallError>>,
    ) -> Result<A, CallError> {
        match timeout(self.patience, call).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Perhaps(EtcdStoreError::Silent { member })),
        }
    }

    /// Turns to the next member.
    pub fn turn(&mut self) {
        self.current = (self.current + 1) % self.members.len();
    }

    /// Says who we are, if that has to be said and was not yet.
    async fn introduce(&mut self, member: usize) -> Result<(), CallError> {
        let Some((name, password)) = self.user.clone() else {
            return Ok(());
        };
        if self.token.is_some() {
            return Ok(());
        }
        let channel = self.members[member].clone();
        let question = Request::new(AuthenticateRequest { name, password });
        let path = "/etcdserverpb.Auth/Authenticate";
        let call = unary(channel, member, path, question);
        let answer: Result<AuthenticateResponse, _> = self.limited(member, call).await;
        // Whoever could not be asked who we are was not asked for anything else.
        let answer = answer.map_err(|error| CallError::Without(error.into()))?;
        self.token = answer.token.parse().ok();
        Ok(())
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

async fn unary<Q, A>(
    channel: Channel,
    member: usize,
    path: &'static str,
    request: Request<Q>,
) -> Result<A, CallError>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel).max_decoding_message_size(MAX_ANSWER);
    if let Err(error) = grpc.ready().await {
        return Err(CallError::Without(unreachable(member, &error)));
    }
    let codec: ProstCodec<Q, A> = ProstCodec::default();
    let answer = grpc.unary(request, PathAndQuery::from_static(path), codec);
    let answer = answer.await.map_err(|status| judge(member, &status))?;
    Ok(answer.into_inner())
}

fn unreachable(member: usize, error: &dyn std::error::Error) -> EtcdStoreError {
    EtcdStoreError::Unreachable {
        member,
        reason: innermost(error),
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

/// Tells what a status means for the call.
fn judge(member: usize, status: &Status) -> CallError {
    let source = std::error::Error::source(status);
    if let Some(error) = source
        && (error.is::<ConnectError>() || error.source().is_some_and(|it| it.is::<ConnectError>()))
    {
        return CallError::Without(unreachable(member, error));
    }
    let reason = status
        .message()
        .trim_start_matches("etcdserver: ")
        .to_owned();
    let without = |error| CallError::Without(error);
    match status.code() {
        Code::ResourceExhausted if reason.contains("database space exceeded") => {
            without(EtcdStoreError::Full)
        }
        Code::Unauthenticated => without(EtcdStoreError::Stranger { reason }),
        Code::InvalidArgument if reason.contains("auth") || reason.contains("token") => {
            without(EtcdStoreError::Stranger { reason })
        }
        Code::InvalidArgument
        | Code::PermissionDenied
        | Code::OutOfRange
        | Code::FailedPrecondition
        | Code::NotFound
        | Code::Unimplemented
        | Code::ResourceExhausted => without(EtcdStoreError::Declined { reason }),
        // Whatever else there is says nothing of what was done.
        _ => CallError::Perhaps(EtcdStoreError::Declined {
            reason: match source {
                Some(error) => format!("{reason}: {}", innermost(error)),
                None => reason,
            },
        }),
    }
}

fn channel(url: &str, terms: &EtcdTerms) -> Result<Channel, EtcdStoreError> {
    let unusable = |reason: String| EtcdStoreError::Unusable {
        url: url.to_owned(),
        reason,
    };
    let patience = Duration::from_nanos(terms.patience.as_ns());
    let is_private = url.starts_with("https://");
    if !is_private && !url.starts_with("http://") {
        return Err(unusable(
            "it begins with neither http:// nor https://".to_owned(),
        ));
    }
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(|error| unusable(innermost(&error)))?
        .connect_timeout(patience)
        .http2_keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(patience)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    if is_private {
        let mut tls = ClientTlsConfig::new();
        let authority = terms.authority.as_deref();
        let authority = authority
            .ok_or_else(|| unusable("https needs the certificate of the authority".to_owned()))?;
        tls = tls.ca_certificate(Certificate::from_pem(authority));
        if let Some((certificate, key)) = &terms.identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        endpoint = endpoint
            .tls_config(tls)
            .map_err(|error| unusable(innermost(&error)))?;
    }
    Ok(endpoint.connect_lazy())
}
