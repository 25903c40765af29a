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

use super::{Context, Network, Owners, Programs};

/// What waits for the store.
#[derive(Debug, Default)]
pub struct Loading {
    loads: BTreeMap<ApplicationId, (RequestId, Manifest)>,
    unloads: BTreeMap<ApplicationId, Vec<RequestId>>,
    /// The names of applications of the configuration that the store knows to be
    /// unloaded.
    unloaded: BTreeSet<String>,
    /// Those that it is asked to know.
    leaving: VecDeque<(RequestId, String)>,
}

impl Loading {
    pub fn load(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        id: RequestId,
        manifest: Manifest,
    ) {
        let is_waiting = |(_, other): &(RequestId, Manifest)| other.name == manifest.name;
        if self.loads.values().any(is_waiting) {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if let Err(error) = owners.applications.check(&manifest) {
            let reply = Reply::ApplicationRefused(error.to_string());
            ctx.outbox.reply(id, reply);
            return;
        }
        let application = owners.applications.next_id();
        ctx.outbox.store(StoreWrite {
            key: Key::Application(application),
            value: Some(to_bytes(&manifest)),
        });
        self.loads.insert(application, (id, manifest));
    }

    pub fn unload(&mut self, ctx: &mut Context, owners: &Owners, id: RequestId, name: String) {
        let Some(application) = owners.applications.by_name(&name) else {
            ctx.outbox.reply(id, Reply::UnknownApplication(name));
            return;
        };
        if !Applications::is_later(application) {
            self.unload_configured(ctx, id, name);
            return;
        }
        let waiting = self.unloads.entry(application).or_default();
        waiting.push(id);
        ctx.outbox.store(StoreWrite {
            key: Key::Application(application),
            value: None,
        });
    }

    /// Has the store keep that an application of the configuration is not wanted.
    fn unload_configured(&mut self, ctx: &mut Context, id: RequestId, name: String) {
        if self.leaving.len() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        self.leaving.push_back((id, name));
        let leaving = self.leaving.iter().map(|(_, name)| name.clone());
        let names = self.unloaded.iter().cloned().chain(leaving).collect();
        ctx.outbox.store(StoreWrite {
            key: Key::Unloaded,
            value: Some(names_to_bytes(&names)),
        });
    }

    /// Unloads those applications of the configuration that the store has kept to be
    /// unloaded.
    pub fn unloading_kept(&mut self, ctx: &mut Context, network: &mut Network, record: &[u8]) {
        let names = names_from_bytes(record).unwrap_or_default();
        for name in &names {
            let application = network.owners.applications.by_name(name);
            if let Some(application) = application.filter(|it| !Applications::is_later(*it)) {
                Self::drop_application(ctx, network, application);
            }
        }
        self.unloaded = names;
        if let Some((id, _)) = self.leaving.pop_front() {
            ctx.outbox.reply(id, Reply::Unloaded);
        }
    }

    pub fn unloading_rejected(&mut self, ctx: &mut Context) {
        if let Some((id, _)) = self.leaving.pop_front() {
            ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    /// Lets an application begin anew.
    pub fn reload(ctx: &mut Context, network: &mut Network, id: RequestId, name: String) {
        let application = network.owners.applications.by_name(&name);
        let known = application.and_then(|application| {
            let loaded = network.owners.applications.get(application)?;
            Some((application, loaded.manifest.kind))
        });
        let Some((application, kind)) = known else {
            ctx.outbox.reply(id, Reply::UnknownApplication(name));
            return;
        };
        network.owners.applications.absolve(application);
        match kind {
            ApplicationKind::ReactiveForwarding => {
                if let Some(forwarding) = &mut network.owners.forwarding {
                    forwarding.begin_anew();
                }
            }
            ApplicationKind::Deterministic => Self::want_known_hosts(ctx, network),
            ApplicationKind::ProactiveRoutes => {
                network.owners.proactive_routes_change(&network.topology)
            }
            ApplicationKind::SdnIp | ApplicationKind::External => {}
        }
        ctx.outbox.reply(id, Reply::Reloaded);
    }

    /// Lists applications; `of_routes` is how many rules `sdn-ip` has.
    pub fn application_summaries(network: &Network, of_routes: usize) -> Vec<ApplicationSummary> {
        let all = network.owners.applications.iter();
        let summary = |(id, loaded): (ApplicationId, &crate::applications::Loaded)| {
            let subject = EntryOwner::Application(id);
            ApplicationSummary {
                id,
                manifest: loaded.manifest.clone(),
                intents: network.owners.intents_of(&loaded.manifest.name),
                rules: match loaded.manifest.kind {
                    ApplicationKind::ProactiveRoutes => Programs::count_route_rules(network),
                    ApplicationKind::SdnIp => of_routes,
                    ApplicationKind::ReactiveForwarding
                    | ApplicationKind::Deterministic
                    | ApplicationKind::External => {
                        network.tables.desired.of_subject(subject).count()
                    }
                },
                denied: loaded.denied,
            }
        };
        all.map(summary).collect()
    }

    /// Loads what the store has kept, whoever asked for it.
    pub fn application_kept(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        application: ApplicationId,
        record: &[u8],
    ) {
        let waiting = self.loads.remove(&application);
        if network.owners.applications.get(application).is_some() {
            return;
        }
        let result = match from_bytes(record) {
            Some(manifest) => {
                let checked = network.owners.applications.check(&manifest);
                checked.map(|()| manifest).map_err(|it| it.to_string())
            }
            None => Err("its manifest cannot be read".to_owned()),
        };
        match result {
            Ok(manifest) => {
                let name = manifest.name.clone();
                network.owners.applications.insert(application, manifest);
                Self::follow_applications(ctx, network);
                ctx.outbox.notify(Event::ApplicationLoaded { name });
                if let Some((id, _)) = waiting {
                    ctx.outbox.reply(id, Reply::Loaded(application));
                }
            }
            Err(reason) => {
                ctx.outbox.store(StoreWrite {
                    key: Key::Application(application),
                    value: None,
                });
                if let Some((id, _)) = waiting {
                    ctx.outbox.reply(id, Reply::ApplicationRefused(reason));
                }
            }
        }
    }

    /// Unloads what the store has forgotten.
    pub fn application_struck(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        application: ApplicationId,
    ) {
        Self::drop_application(ctx, network, application);
        let waiting = self.unloads.remove(&application);
        for id in waiting.into_iter().flatten() {
            ctx.outbox.reply(id, Reply::Unloaded);
        }
    }

    pub fn application_rejected(&mut self, ctx: &mut Context, application: ApplicationId) {
        let load = self.loads.remove(&application);
        let unloads = self.unloads.remove(&application);
        let waiting = load.map(|(id, _)| id).into_iter();
        for id in waiting.chain(unloads.into_iter().flatten()) {
            ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    fn drop_application(ctx: &mut Context, network: &mut Network, application: ApplicationId) {
        let Some(manifest) = network.owners.applications.remove(application) else {
            return;
        };
        network.clear_rules(ctx, EntryOwner::Application(application));
        network.owners.end_intents_of(ctx, &manifest.name);
        Self::follow_applications(ctx, network);
        ctx.outbox.notify(Event::ApplicationUnloaded {
            name: manifest.name,
        });
    }

    /// Lets the application decide about frames that no flow claims which is to.
    pub fn follow_applications(ctx: &mut Context, network: &mut Network) {
        match (
            network.owners.applications.decider(),
            &network.owners.forwarding,
        ) {
            (ApplicationKind::ReactiveForwarding, None) => {
                network.owners.forwarding = Some(Forwarding::new(ctx.seed));
                Self::want_known_hosts(ctx, network);
                network.owners.follow_links(ctx, &network.topology);
            }
            (ApplicationKind::Deterministic, Some(_)) => {
                network.owners.forwarding = None;
                for (_, slot) in ctx.sessions.ready() {
                    forwarding::emit_forget(ctx.outbox.to(slot));
                }
                Self::want_known_hosts(ctx, network);
            }
            (
                ApplicationKind::ReactiveForwarding
                | ApplicationKind::Deterministic
                | ApplicationKind::ProactiveRoutes
                | ApplicationKind::SdnIp
                | ApplicationKind::External,
                _,
            ) => {}
        }
        let kind = ApplicationKind::ProactiveRoutes;
        let is_proactive = network.owners.applications.of_kind(kind).is_some();
        if is_proactive != std::mem::replace(&mut network.owners.is_proactive, is_proactive) {
            network.owners.proactive_routes_change(&network.topology);
        }
        network.owners.mark_all_gatherings(ctx, &network.topology);
    }

    /// Has switches discard what known hosts send that nobody claims, unless it is
    /// forwarded.
    fn want_known_hosts(ctx: &mut Context, network: &mut Network) {
        let hosts = network.topology.view.hosts().iter();
        let attached = hosts.filter_map(|host| Some((host.mac, host.attachment?)));
        let attached: Vec<_> = attached.collect();
        for (mac, port) in attached {
            let subject = EntryOwner::KnownHost(mac);
            match network.owners.forwarding {
                None => network.set_rules(ctx, subject, vec![rules::known_host(mac, port)]),
                Some(_) => network.clear_rules(ctx, subject),
            }
        }
    }
}
