//! Which applications are loaded, and what each was granted (S1-9).
//!
//! An application declares what it may see and do in its [`Manifest`]; all else is
//! refused, and counted. The operator is granted everything.
//!
//! Two applications that decide what happens to frames that no flow claims
//! ([`ApplicationKind::ReactiveForwarding`] and [`ApplicationKind::Deterministic`])
//! contradict each other: the one with the higher priority decides, and two of the
//! same priority are not loaded together. Without any, nothing is forwarded that
//! was not admitted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::northbound::{
    ApplicationId, ApplicationKind, Asker, MAX_APPLICATION_NAME, MAX_APPLICATIONS, Manifest,
    Permission, Request,
};

/// The version of the form in which manifests are kept.
const VERSION: u8 = 1;
/// Applications of the configuration have lower numbers, those that were loaded
/// later this one or higher.
const FIRST_LATER: u16 = 256;

/// Why an application is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("{limit} applications are loaded, and there cannot be more: unload one first")]
    TooMany { limit: usize },
    /// The name cannot be one.
    #[error(
        "`{name}` is no name: 1 to {MAX_APPLICATION_NAME} small letters, digits and hyphens, \
         beginning with a letter"
    )]
    Name { name: String },
    /// The name is that of another application.
    #[error("an application called {name} is loaded: unload it first, or choose another name")]
    NameTaken { name: String },
    /// A built-in application has another name, or another one has its name.
    #[error("{name} is the name of the built-in application, which has no other")]
    BuiltIn { name: &'static str },
    /// A built-in application does not declare what it does.
    #[error("{kind} needs the permission {needs}, which its manifest does not declare")]
    Lacks {
        kind: &'static str,
        needs: Permission,
    },
    /// Another application decides about the same frames, with the same priority.
    #[error(
        "{other} decides what happens to frames that no flow claims, with the same priority \
         {priority}, as {name} would: give one of them a higher priority, or unload {other}"
    )]
    Conflict {
        /// The application that is to be loaded.
        name: String,
        other: String,
        priority: u8,
    },
}

/// The applications that are loaded.
#[derive(Clone, Debug)]
pub struct Applications {
    loaded: BTreeMap<ApplicationId, Loaded>,
    next: u16,
}

/// An application that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub manifest: Manifest,
    /// How often it was refused something that it was not granted.
    pub denied: u64,
}

impl Default for Applications {
    fn default() -> Self {
        Self {
            loaded: BTreeMap::new(),
            next: FIRST_LATER,
        }
    }
}

impl Applications {
    /// Loads the applications of the configuration.
    ///
    /// # Errors
    ///
    /// If one of them cannot be loaded beside those before it.
    pub fn configured(manifests: Vec<Manifest>) -> Result<Self, LoadError> {
        let mut applications = Self::default();
        for (number, manifest) in (0..).zip(manifests) {
            applications.check(&manifest)?;
            applications.insert(ApplicationId(number), manifest);
        }
        Ok(applications)
    }

    /// Returns a number that no application had.
    pub fn next_id(&mut self) -> ApplicationId {
        let id = ApplicationId(self.next);
        self.next = self.next.wrapping_add(1).max(FIRST_LATER);
        id
    }

    /// Returns whether an application was loaded later than the configuration.
    #[must_use]
    pub const fn is_later(id: ApplicationId) -> bool {
        id.0 >= FIRST_LATER
    }

    /// Checks whether an application can be loaded beside the others.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub fn check(&self, manifest: &Manifest) -> Result<(), LoadError> {
        let limit = MAX_APPLICATIONS;
        if self.loaded.len() >= limit {
            return Err(LoadError::TooMany { limit });
        }
        check_name(manifest)?;
        let name = manifest.name.clone();
        if self.by_name(&name).is_some() {
            return Err(LoadError::NameTaken { name });
        }
        let mut needs = manifest.kind.needs().iter();
        if let Some(needs) = needs.find(|needs| !manifest.permissions.contains(needs)) {
            return Err(LoadError::Lacks {
                kind: manifest.kind.name(),
                needs: *needs,
            });
        }
        let mut others = self.loaded.values().map(|loaded| &loaded.manifest);
        let rival = others.find(|other| {
            decides(other.kind) && decides(manifest.kind) && other.priority == manifest.priority
        });
        match rival {
            None => Ok(()),
            Some(other) => Err(LoadError::Conflict {
                name,
                other: other.name.clone(),
                priority: other.priority,
            }),
        }
    }

    /// Loads an application that was [checked](Self::check).
    pub fn insert(&mut self, id: ApplicationId, manifest: Manifest) {
        if Self::is_later(id) {
            self.next = self.next.max(id.0.wrapping_add(1)).max(FIRST_LATER);
        }
        let loaded = Loaded {
            manifest,
            denied: 0,
        };
        self.loaded.insert(id, loaded);
    }

    pub fn remove(&mut self, id: ApplicationId) -> Option<Manifest> {
        Some(self.loaded.remove(&id)?.manifest)
    }

    /// Forgets how often an application was refused something.
    pub fn absolve(&mut self, id: ApplicationId) {
        if let Some(loaded) = self.loaded.get_mut(&id) {
            loaded.denied = 0;
        }
    }

    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<ApplicationId> {
        let mut loaded = self.loaded.iter();
        let found = loaded.find(|(_, loaded)| loaded.manifest.name == name);
        found.map(|(id, _)| *id)
    }

    /// Returns the application of a kind, the one with the highest priority if
    /// there are several.
    #[must_use]
    pub fn of_kind(&self, kind: ApplicationKind) -> Option<ApplicationId> {
        let of_kind = self.iter().filter(|(_, it)| it.manifest.kind == kind);
        let first = of_kind.max_by_key(|(_, it)| it.manifest.priority);
        first.map(|(id, _)| id)
    }

    #[must_use]
    pub fn get(&self, id: ApplicationId) -> Option<&Loaded> {
        self.loaded.get(&id)
    }

    /// Returns all applications, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ApplicationId, &Loaded)> {
        self.loaded.iter().map(|(id, loaded)| (*id, loaded))
    }

    /// Returns what decides about frames that no flow claims.
    #[must_use]
    pub fn decider(&self) -> ApplicationKind {
        let deciders = self.loaded.values().filter(|it| decides(it.manifest.kind));
        let first = deciders.max_by_key(|it| it.manifest.priority);
        first.map_or(ApplicationKind::Deterministic, |it| it.manifest.kind)
    }

    /// Returns whose rules go first where they conflict: the higher one's. Nobody's
    /// go before the operator's.
    #[must_use]
    pub fn priority(&self, asker: &Asker) -> u16 {
        match asker {
            Asker::Operator => u16::MAX,
            Asker::Application(name) => {
                let loaded = self.by_name(name).and_then(|id| self.get(id));
                loaded.map_or(0, |loaded| u16::from(loaded.manifest.priority))
            }
        }
    }

    /// Returns whether who asks was granted something.
    #[must_use]
    pub fn is_granted(&self, by: &Asker, permission: Permission) -> bool {
        match by {
            Asker::Operator => true,
            Asker::Application(name) => {
                let loaded = self.by_name(name).and_then(|id| self.get(id));
                loaded.is_some_and(|loaded| loaded.manifest.permissions.contains(&permission))
            }
        }
    }

    /// Returns what who asks this would need and was not granted, and counts that.
    pub fn lack(&mut self, by: &Asker, request: &Request) -> Option<(String, Permission)> {
        let needs = request.needs();
        let name = match by {
            Asker::Application(name) if !self.is_granted(by, needs) => name,
            Asker::Application(_) | Asker::Operator => return None,
        };
        let id = self.by_name(name);
        if let Some(loaded) = id.and_then(|id| self.loaded.get_mut(&id)) {
            loaded.denied += 1;
        }
        Some((name.clone(), needs))
    }
}

/// Returns whether an application decides about frames that no flow claims.
const fn decides(kind: ApplicationKind) -> bool {
    match kind {
        ApplicationKind::ReactiveForwarding | ApplicationKind::Deterministic => true,
        ApplicationKind::ProactiveRoutes | ApplicationKind::SdnIp | ApplicationKind::External => {
            false
        }
    }
}

fn check_name(manifest: &Manifest) -> Result<(), LoadError> {
    let name = &manifest.name;
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name
        .bytes()
        .next()
        .is_some_and(|it| it.is_ascii_lowercase());
    if !begins || name.len() > MAX_APPLICATION_NAME || !name.bytes().all(is_part) {
        return Err(LoadError::Name { name: name.clone() });
    }
    let mut built_in = ApplicationKind::BUILT_IN.into_iter();
    let wrong = built_in.find(|kind| (*kind == manifest.kind) != (kind.name() == name));
    match wrong {
        None => Ok(()),
        Some(kind) => Err(LoadError::BuiltIn { name: kind.name() }),
    }
}

/// A manifest as the store keeps it.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    kind: String,
    permissions: Vec<String>,
    priority: u8,
}

#[must_use]
pub fn to_bytes(manifest: &Manifest) -> Vec<u8> {
    let permissions = manifest.permissions.iter();
    let stored = Stored {
        name: manifest.name.clone(),
        kind: manifest.kind.name().to_owned(),
        permissions: permissions.map(ToString::to_string).collect(),
        priority: manifest.priority,
    };
    postcard::to_extend(&stored, vec![VERSION])
        .expect("numbers and texts always have a form, and a vector has room")
}

/// Reads the bytes of a manifest, or returns `None` if they are none.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Manifest> {
    let [VERSION, content @ ..] = bytes else {
        return None;
    };
    let stored: Stored = postcard::from_bytes(content).ok()?;
    let permissions = stored.permissions.iter().map(|it| Permission::named(it));
    Some(Manifest {
        name: stored.name,
        kind: ApplicationKind::named(&stored.kind)?,
        permissions: permissions.collect::<Option<BTreeSet<_>>>()?,
        priority: stored.priority,
    })
}

/// Returns the bytes of the names of applications.
#[must_use]
pub fn names_to_bytes(names: &BTreeSet<String>) -> Vec<u8> {
    postcard::to_extend(names, vec![VERSION])
        .expect("numbers and texts always have a form, and a vector has room")
}

/// Reads the bytes of names, or returns `None` if they are none.
#[must_use]
pub fn names_from_bytes(bytes: &[u8]) -> Option<BTreeSet<String>> {
    let [VERSION, content @ ..] = bytes else {
        return None;
    };
    postcard::from_bytes(content).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_declared_is_not_granted_and_counted() {
        let mut applications = Applications::default();
        let id = applications.next_id();
        applications.insert(id, external("watcher", &[Permission::SeeTopology]));
        let by = Asker::Application("watcher".into());

        let allowed = applications.lack(&by, &Request::View);
        let denied = applications.lack(&by, &Request::Withdraw("trip".into()));
        let operator = applications.lack(&Asker::Operator, &Request::Withdraw("trip".into()));

        assert_eq!((allowed, operator), (None, None));
        assert_eq!(denied, Some(("watcher".into(), Permission::AdmitFlows)));
        assert_eq!(applications.get(id).unwrap().denied, 1);
    }

    #[test]
    fn an_application_that_is_not_loaded_is_granted_nothing() {
        let mut applications = Applications::default();
        let by = Asker::Application("watcher".into());

        assert!(applications.lack(&by, &Request::View).is_some());
    }

    #[test]
    fn of_two_that_decide_about_the_same_frames_the_higher_one_does() {
        let with = |kind, priority| Manifest {
            priority,
            ..Manifest::built_in(kind)
        };
        let reactive = with(ApplicationKind::ReactiveForwarding, 5);
        let mut applications = Applications::configured(vec![reactive]).unwrap();
        let strict = |priority| with(ApplicationKind::Deterministic, priority);

        let conflict = applications.check(&strict(5)).unwrap_err().to_string();
        let higher = applications.check(&strict(6));
        applications.insert(ApplicationId(9), strict(6));

        assert!(conflict.contains("reactive-forwarding") && conflict.contains("deterministic"));
        assert_eq!(higher, Ok(()));
        assert_eq!(applications.decider(), ApplicationKind::Deterministic);
        applications.remove(ApplicationId(9));
        assert_eq!(applications.decider(), ApplicationKind::ReactiveForwarding);
    }

    #[test]
    fn what_cannot_be_loaded_is_refused_with_what_to_do() {
        let kind = ApplicationKind::ReactiveForwarding;
        let mut weak = Manifest::built_in(kind);
        weak.permissions.remove(&Permission::SendFrames);
        let renamed = Manifest {
            name: "other".into(),
            ..Manifest::built_in(kind)
        };
        for (manifest, text) in [
            (external("", &[]), "is no name"),
            (external("Big Name", &[]), "is no name"),
            (external("deterministic", &[]), "built-in"),
            (renamed, "built-in"),
            (weak, "send-frames"),
        ] {
            let error = Applications::default().check(&manifest).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let mut applications = Applications::default();
        for number in 0..MAX_APPLICATIONS {
            let id = applications.next_id();
            applications.insert(id, external(&format!("app-{number}"), &[]));
        }

        let refused = applications.check(&external("one-more", &[]));

        let limit = MAX_APPLICATIONS;
        assert_eq!(refused, Err(LoadError::TooMany { limit }));
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        let names = BTreeSet::from(["one".to_owned(), "other".to_owned()]);

        assert_eq!(names_from_bytes(&names_to_bytes(&names)), Some(names));
        assert_eq!(names_from_bytes(&[VERSION, 0xff]), None);
    }

    proptest! {
        #[test]
        fn a_manifest_is_read_as_it_was_written(
            name in "[a-z][a-z0-9-]{0,20}",
            permissions in prop::collection::btree_set(prop::sample::select(&Permission::ALL[..]), 0..11),
            priority: u8,
        ) {
            let permissions: Vec<Permission> = permissions.into_iter().collect();
            let manifest = Manifest { priority, ..external(&name, &permissions) };

            prop_assert_eq!(from_bytes(&to_bytes(&manifest)), Some(manifest));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = from_bytes(&bytes);
        }
    }

    fn external(name: &str, permissions: &[Permission]) -> Manifest {
        Manifest {
            name: name.into(),
            kind: ApplicationKind::External,
            permissions: permissions.iter().copied().collect(),
            priority: 0,
        }
    }
}
