//! What a client sends to the controller: a body as each of the documents that are
//! taken, or the parts of an address. What is read is turned into what the controller
//! is asked, its numbers held against their limits; what was understood says the same
//! when it is written down and read again.

#![no_main]

use api::{Manifest, ProfileWish, SettingsChange};
use controller::northbound::Requirement;
use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeOwned;
use taktos::web::body::{has_key, parse};
use taktos::web::describe::Names;
use taktos::web::document::application::ManifestDocument;
use taktos::web::document::intent::{self, IntentDocument, IntentsRequestDocument};
use taktos::web::document::requirement::{check_name, mac};
use taktos::web::document::{
    HostRequestDocument, PathQueryDocument, RequirementDocument, RequirementsDocument, place,
};
use taktos::web::query::Query;
use wire::openflow::DatapathId;

fuzz_target!(|data: &[u8]| {
    let names = Names::new([(DatapathId(17), "s1".to_owned())]);
    let Some((&which, text)) = data.split_first() else {
        return;
    };
    match which % 10 {
        0 => read(text, requirement),
        1 => read(text, |several: RequirementsDocument| {
            assert!(has_key(text, "requirements"));
            several.requirements.into_iter().for_each(requirement);
        }),
        2 => read(text, |wanted: IntentDocument| {
            let _ = intent::intent(wanted, &names);
        }),
        3 => read(text, |several: IntentsRequestDocument| {
            for wanted in several.intents {
                let _ = intent::intent(wanted, &names);
            }
        }),
        4 => read(text, |query: PathQueryDocument| {
            let _ = query.query(&names);
        }),
        5 => read(text, |manifest: ManifestDocument| {
            let _ = Manifest::try_from(manifest);
        }),
        6 => read(text, |host: HostRequestDocument| {
            let _ = mac("mac", &host.mac);
            let _ = host.attachment.map(|at| place::port("attachment", &at, &names));
        }),
        7 => read(text, |_: SettingsChange| {}),
        8 => read(text, |_: ProfileWish| {}),
        _ => address(&String::from_utf8_lossy(text), &names),
    }
});

fn read<T: DeserializeOwned>(text: &[u8], understand: impl FnOnce(T)) {
    if let Ok(document) = parse(text) {
        understand(document);
    }
}

fn requirement(document: RequirementDocument) {
    if let Ok(understood) = Requirement::try_from(document) {
        let written = RequirementDocument::from(&understood);
        assert_eq!(Requirement::try_from(written), Ok(understood));
    }
}

/// Reads the parts of an address: names, links, and what stands behind the `?`.
fn address(text: &str, names: &Names) {
    let _ = check_name("name", text);
    let _ = place::switch("switch", text, names);
    if let Ok(link) = place::link("link", text) {
        assert_eq!(place::link("link", &link.to_string()), Ok(link));
    }
    let query = Query::of(text);
    let _ = query.only(&["dry_run", "after"]);
    let _ = (query.flag("dry_run"), query.number("after"), query.one("switch"));
}
