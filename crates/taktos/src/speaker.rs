//! The connection to the daemon that speaks BGP for `sdn-ip` (S1-10): GoBGP, over its gRPC
//! interface. Nothing of BGP is ours.
//!
//! A thread of its own hears of changes, asks for lists (`speaker/conversation.rs`), reads
//! paths (`speaker/path.rs`) and decides what the controller is told when
//! (`speaker/route_feed.rs`). A speaker that is lost is looked for again; the controller keeps
//! its routes for a while (RFC 4724).

mod client;
mod controller_link;
mod conversation;
mod messages;
mod path;
mod peers;
mod report;
mod route_feed;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use api::{SdnIp, SpeakerState};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use client::SpeakerClient;
use conversation::{Beginning, Conversation, End};

pub use client::{ParseSpeakerApiError, SpeakerApi};
pub use controller_link::{Answer, ControllerLink, Saying};
pub use messages::SessionState;
pub use path::{NextHopFault, PathFault, PathReading, PeerLinks, read_message};
pub use peers::PeerSession;
pub use report::{SharedReport, SpeakerCounts, SpeakerReport, Tell};
pub use route_feed::RouteRequest;

/// How long a speaker or a controller that is of no use is left alone.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// How long what is under way may take when the program ends.
const FAREWELL: Duration = Duration::from_millis(200);

/// The connection to the speaker. It ends when this value does.
#[derive(Debug)]
pub struct Speaker {
    /// Given up when the connection ends.
    runtime: Option<Runtime>,
}

impl Speaker {
    /// Begins to look for the speaker, and tells the controller of it.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn start(
        (api, settings): (SpeakerApi, &SdnIp),
        controller: ControllerLink,
        report: SharedReport,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("speaker")
            .enable_all()
            .build()?;
        let attendant = Attendant {
            api,
            links: PeerLinks::of(settings),
            controller,
            report,
        };
        runtime.spawn(attendant.attend());
        Ok(Self {
            runtime: Some(runtime),
        })
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}

/// Keeps the controller told, whoever of the two begins anew.
struct Attendant {
    api: SpeakerApi,
    links: PeerLinks,
    controller: ControllerLink,
    report: SharedReport,
}

impl Attendant {
    async fn attend(self) {
        loop {
            while !(self.controller.is_ready() && self.is_taken(Saying::Settings).await) {
                sleep(RETRY_INTERVAL).await;
            }
            self.report.forgotten();
            self.serve().await;
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Hears the speaker again and again, until the controller decides no more.
    async fn serve(&self) {
        let mut beginning = Beginning::First;
        let mut is_told = false;
        while self.controller.is_ready() {
            let error = match self.hear(beginning).await {
                End::Controller => return,
                End::Speaker(error) => error,
            };
            let is_news = self.report.lost(&error);
            if is_news || !is_told {
                is_told = true;
                if !self.is_taken(Saying::State(SpeakerState::Lost)).await {
                    return;
                }
            }
            if self.report.now().counts.lists > 0 {
                beginning = Beginning::Again;
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn hear(&self, beginning: Beginning) -> End {
        let begun = async {
            let client = SpeakerClient::new(&self.api)?;
            let known = (self.links.clone(), self.report.clone());
            Conversation::begin(self.controller.clone(), client, known, beginning).await
        };
        match begun.await {
            Ok(mut conversation) => conversation.go_on().await,
            Err(error) => End::Speaker(error),
        }
    }

    async fn is_taken(&self, saying: Saying) -> bool {
        matches!(self.controller.tell(saying).await, Answer::Taken { .. })
    }
}
