//! Loads, reloads and unloads applications while the network runs (S1-9).
//!
//! What was loaded while the controller ran is kept by the store, and loaded again
//! after a restart; what the configuration loads, it loads again, unless it was
//! unloaded. An application
//! that is unloaded takes its rules and intents with it. One that is reloaded
//! begins anew with what it knows, while its rules stay where they are: traffic
//! does not notice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::applications::{Applications, from_bytes, names_from_bytes, names_to_bytes, to_bytes};
use crate::desired::EntryOwner;
use crate::forwarding::{self, Forwarding};
use crate::northbound::{
    ApplicationId, ApplicationKind, ApplicationSummary, Event, MAX_WAITING, Manifest, Reply,
    RequestId,
};
use crate::rules;
use crate::store::{Key, StoreWrite};

use super::Controller;

/// What waits for the store.
#[derive(Debug, Default)]
pub(super) struct Loading {
    loads: BTreeMap<ApplicationId, (RequestId, Manifest)>,
    unloads: BTreeMap<ApplicationId, Vec<RequestId>>,
    /// The names of applications of the configuration that the store knows to be
    /// unloaded.
    unloaded: BTreeSet<String>,
    /// Those that it is asked to know.
    leaving: VecDeque<(RequestId, String)>,
}

impl Controller {
    pub(super) fn load(&mut self, id: RequestId, manifest: Manifest) {
        let is_waiting = |(_, other): &(RequestId, Manifest)| other.name == manifest.name;
        if self.loading.loads.values().any(is_waiting) {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if let Err(error) = self.owners.applications.check(&manifest) {
            let reply = Reply::ApplicationRefused(error.to_string());
            self.ctx.outbox.reply(id, reply);
            return;
        }
        let application = self.owners.applications.next_id();
        self.ctx.outbox.store(StoreWrite {
            key: Key::Application(application),
            value: Some(to_bytes(&manifest)),
        });
        self.loading.loads.insert(application, (id, manifest));
    }

    pub(super) fn unload(&mut self, id: RequestId, name: String) {
        let Some(application) = self.owners.applications.by_name(&name) else {
            self.ctx.outbox.reply(id, Reply::UnknownApplication(name));
            return;
        };
        if !Applications::is_later(application) {
            self.unload_configured(id, name);
            return;
        }
        let waiting = self.loading.unloads.entry(application).or_default();
        waiting.push(id);
        self.ctx.outbox.store(StoreWrite {
            key: Key::Application(application),
            value: None,
        });
    }

    /// Has the store keep that an application of the configuration is not wanted.
    fn unload_configured(&mut self, id: RequestId, name: String) {
        if self.loading.leaving.len() >= MAX_WAITING {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        self.loading.leaving.push_back((id, name));
        let leaving = self.loading.leaving.iter().map(|(_, name)| name.clone());
        let names = self
            .loading
            .unloaded
            .iter()
            .cloned()
            .chain(leaving)
            .collect();
        self.ctx.outbox.store(StoreWrite {
            key: Key::Unloaded,
            value: Some(names_to_bytes(&names)),
        });
    }

    /// Unloads those applications of the configuration that the store has kept to be
    /// unloaded.
    pub(super) fn unloading_kept(&mut self, record: &[u8]) {
        let names = names_from_bytes(record).unwrap_or_default();
        for name in &names {
            let application = self.owners.applications.by_name(name);
            if let Some(application) = application.filter(|it| !Applications::is_later(*it)) {
                self.drop_application(application);
            }
        }
        self.loading.unloaded = names;
        if let Some((id, _)) = self.loading.leaving.pop_front() {
            self.ctx.outbox.reply(id, Reply::Unloaded);
        }
    }

    pub(super) fn unloading_rejected(&mut self) {
        if let Some((id, _)) = self.loading.leaving.pop_front() {
            self.ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    /// Lets an application begin anew.
    pub(super) fn reload(&mut self, id: RequestId, name: String) {
        let application = self.owners.applications.by_name(&name);
        let known = application.and_then(|application| {
            let loaded = self.owners.applications.get(application)?;
            Some((application, loaded.manifest.kind))
        });
        let Some((application, kind)) = known else {
            self.ctx.outbox.reply(id, Reply::UnknownApplication(name));
            return;
        };
        self.owners.applications.absolve(application);
        match kind {
            ApplicationKind::ReactiveForwarding => {
                if let Some(forwarding) = &mut self.owners.forwarding {
                    forwarding.begin_anew();
                }
            }
            ApplicationKind::Deterministic => self.want_known_hosts(),
            ApplicationKind::ProactiveRoutes => self.proactive_routes_change(),
            ApplicationKind::External => {}
        }
        self.ctx.outbox.reply(id, Reply::Reloaded);
    }

    pub(super) fn application_summaries(&self) -> Vec<ApplicationSummary> {
        let all = self.owners.applications.iter();
        let summary = |(id, loaded): (ApplicationId, &crate::applications::Loaded)| {
            let subject = EntryOwner::Application(id);
            ApplicationSummary {
                id,
                manifest: loaded.manifest.clone(),
                intents: self.intents_of(&loaded.manifest.name),
                rules: match loaded.manifest.kind {
                    ApplicationKind::ProactiveRoutes => self.count_route_rules(),
                    ApplicationKind::ReactiveForwarding
                    | ApplicationKind::Deterministic
                    | ApplicationKind::External => self.tables.desired.of_subject(subject).count(),
                },
                denied: loaded.denied,
            }
        };
        all.map(summary).collect()
    }

    /// Loads what the store has kept, whoever asked for it.
    pub(super) fn application_kept(&mut self, application: ApplicationId, record: &[u8]) {
        let waiting = self.loading.loads.remove(&application);
        if self.owners.applications.get(application).is_some() {
            return;
        }
        let result = match from_bytes(record) {
            Some(manifest) => {
                let checked = self.owners.applications.check(&manifest);
                checked.map(|()| manifest).map_err(|it| it.to_string())
            }
            None => Err("its manifest cannot be read".to_owned()),
        };
        match result {
            Ok(manifest) => {
                let name = manifest.name.clone();
                self.owners.applications.insert(application, manifest);
                self.follow_applications();
                self.ctx.outbox.notify(Event::ApplicationLoaded { name });
                if let Some((id, _)) = waiting {
                    self.ctx.outbox.reply(id, Reply::Loaded(application));
                }
            }
            Err(reason) => {
                self.ctx.outbox.store(StoreWrite {
                    key: Key::Application(application),
                    value: None,
                });
                if let Some((id, _)) = waiting {
                    self.ctx.outbox.reply(id, Reply::ApplicationRefused(reason));
                }
            }
        }
    }

    /// Unloads what the store has forgotten.
    pub(super) fn application_struck(&mut self, application: ApplicationId) {
        self.drop_application(application);
        let waiting = self.loading.unloads.remove(&application);
        for id in waiting.into_iter().flatten() {
            self.ctx.outbox.reply(id, Reply::Unloaded);
        }
    }

    pub(super) fn application_rejected(&mut self, application: ApplicationId) {
        let load = self.loading.loads.remove(&application);
        let unloads = self.loading.unloads.remove(&application);
        let waiting = load.map(|(id, _)| id).into_iter();
        for id in waiting.chain(unloads.into_iter().flatten()) {
            self.ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    fn drop_application(&mut self, application: ApplicationId) {
        let Some(manifest) = self.owners.applications.remove(application) else {
            return;
        };
        self.clear_rules(EntryOwner::Application(application));
        self.end_intents_of(&manifest.name);
        self.follow_applications();
        self.ctx.outbox.notify(Event::ApplicationUnloaded {
            name: manifest.name,
        });
    }

    /// Lets the application decide about frames that no flow claims which is to.
    pub(super) fn follow_applications(&mut self) {
        match (self.owners.applications.decider(), &self.owners.forwarding) {
            (ApplicationKind::ReactiveForwarding, None) => {
                self.owners.forwarding = Some(Forwarding::new(self.ctx.seed));
                self.want_known_hosts();
                self.follow_links();
            }
            (ApplicationKind::Deterministic, Some(_)) => {
                self.owners.forwarding = None;
                for (_, slot) in self.ctx.sessions.ready() {
                    forwarding::emit_forget(self.ctx.outbox.to(slot));
                }
                self.want_known_hosts();
            }
            (
                ApplicationKind::ReactiveForwarding
                | ApplicationKind::Deterministic
                | ApplicationKind::ProactiveRoutes
                | ApplicationKind::External,
                _,
            ) => {}
        }
        let kind = ApplicationKind::ProactiveRoutes;
        let is_proactive = self.owners.applications.of_kind(kind).is_some();
        if is_proactive != std::mem::replace(&mut self.owners.is_proactive, is_proactive) {
            self.proactive_routes_change();
        }
        self.mark_all_gatherings();
    }

    /// Has switches discard what known hosts send that nobody claims, unless it is
    /// forwarded.
    fn want_known_hosts(&mut self) {
        let hosts = self.topology.view.hosts().iter();
        let attached = hosts.filter_map(|host| Some((host.mac, host.attachment?)));
        let attached: Vec<_> = attached.collect();
        for (mac, port) in attached {
            let subject = EntryOwner::KnownHost(mac);
            match self.owners.forwarding {
                None => self.set_rules(subject, vec![rules::known_host(mac, port)]),
                Some(_) => self.clear_rules(subject),
            }
        }
    }
}
