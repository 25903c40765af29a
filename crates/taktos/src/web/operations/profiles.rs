//! What switches are taken to be: shown, and corrected.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{ProfileOffer, ProfileRefusal, ProfileWish, Reply, Request};

use super::rules::{known, unknown};
use super::{About, Operation};
use crate::web::body::Sent;
use crate::web::document::ProfilesDocument;
use crate::web::gate::{Caller, Role};
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

const CORRECTED: [(&str, &str); 1] = [(
    "dry_run",
    "say what would explain all that was seen and what would follow; change nothing",
)];

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/profiles", "/api/v1/profiles/{switch}");
    let list = "Show what switches are taken to be, and whether what is seen of them agrees with \
                it. They are asked anew, once a second at most.";
    let correct = "Take a switch to be as slow as explains all that was seen of it. Flows that \
                   are late then go another way, make before break, or are told to be late.";
    vec![
        Operation::get("list-profiles", all, list, listed)
            .gives::<ProfilesDocument>(StatusCode::OK),
        Operation::post("correct-profile", one, correct, corrected)
            .role(Role::Administer)
            .parameters(&CORRECTED)
            .takes::<ProfileWish>()
            .gives::<ProfileOffer>(StatusCode::OK),
    ]
}

async fn listed(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    match site.ask(caller.asker, Request::Profiles).await? {
        Reply::Profiles(switches) => Ok(json(StatusCode::OK, &ProfilesDocument { switches })),
        _ => Err(Problem::fault()),
    }
}

async fn corrected(
    State(site): State<Site>,
    caller: Caller,
    Path(switch): Path<String>,
    query: Query,
    Sent(wish): Sent<ProfileWish>,
) -> Result<Response<Body>, Problem> {
    query.only(&CORRECTED.map(|(name, _)| name))?;
    let is_dry = query.flag("dry_run")?;
    let datapath = known(&site, &switch)?;
    if wish.margin_percent > ProfileWish::MOST_MARGIN {
        let message = format!(
            "`margin_percent` is {}, and at most {}",
            wish.margin_percent,
            ProfileWish::MOST_MARGIN
        );
        return Err(Problem::bad("unusable-value", message));
    }
    let request = Request::CorrectProfile {
        datapath,
        wish,
        is_dry,
    };
    match site.ask(caller.asker, request).await? {
        Reply::ProfileOffered(offer) => {
            let mut response = json(StatusCode::OK, &*offer);
            response.extensions_mut().insert(About(vec![switch]));
            Ok(response)
        }
        Reply::ProfileRefused(refusal) => Err(refused(&switch, &refusal)),
        Reply::UnknownSwitch(_) => Err(unknown(&switch)),
        _ => Err(Problem::fault()),
    }
}

fn refused(switch: &str, refusal: &ProfileRefusal) -> Problem {
    let message = format!("switch {switch}: {refusal}");
    match refusal {
        ProfileRefusal::NothingToExplain => Problem::conflict("nothing-to-explain", message)
            .help("GET /api/v1/profiles shows what was seen"),
        ProfileRefusal::NoProcessor => Problem::refused("no-processor", message),
        ProfileRefusal::Levels => Problem::refused("levels", message),
        ProfileRefusal::Overload { .. } => Problem::refused("overload", message)
            .help("withdraw flows over this switch, and ask again"),
        ProfileRefusal::Unexplained => Problem::refused("not-explained", message)
            .help("a longer time of a frame (`raise`: `per-frame`) or a latency may explain it"),
    }
}
