//! Who is connected, and who makes room when nobody more fits.
//!
//! A client that waits for no answer can come again. So the one that has been idle for
//! longest is shown out when there are too many, of all or of one address; only where
//! all are served nobody more is let in. Who holds connections open and asks nothing
//! keeps nobody out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot::{self, Receiver, Sender};

use super::{MOST_CLIENTS, MOST_OF_ONE_ADDRESS};

#[derive(Clone, Debug, Default)]
pub struct Lobby {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug, Default)]
struct Inside {
    clients: BTreeMap<u64, Client>,
    /// Counts what happens: the order in which clients came, and became idle.
    moment: u64,
}

#[derive(Debug)]
struct Client {
    from: IpAddr,
    /// Since when it waits for no answer, if it does not.
    idle_since: Option<u64>,
    _shown_out_when_dropped: Sender<()>,
}

/// The place of one client; given up when it is dropped.
#[derive(Debug)]
pub struct ClientSlot {
    number: u64,
    inside: Arc<Mutex<Inside>>,
}

impl Lobby {
    /// Lets in a client from an address, and shows out another one if it has to; none if
    /// all are served. What is returned beside the place ends when it is to leave.
    pub fn enter(&self, from: IpAddr) -> Option<(ClientSlot, Receiver<()>)> {
        let mut inside = lock(&self.inside);
        let of_one = inside.clients.values().filter(|client| client.from == from);
        // All programs of this machine share its address.
        let is_one_too_many = !from.is_loopback() && of_one.count() >= MOST_OF_ONE_ADDRESS;
        if is_one_too_many || inside.clients.len() >= MOST_CLIENTS {
            let may_go = |client: &Client| !is_one_too_many || client.from == from;
            let idle = inside.clients.iter().filter(|(_, client)| may_go(client));
            let idle = idle.filter_map(|(number, client)| Some((client.idle_since?, *number)));
            let (_, longest) = idle.min()?;
            inside.clients.remove(&longest);
        }
        inside.moment += 1;
        let number = inside.moment;
        let (sender, show_out) = oneshot::channel();
        let client = Client {
            from,
            idle_since: Some(number),
            _shown_out_when_dropped: sender,
        };
        inside.clients.insert(number, client);
        let place = ClientSlot {
            number,
            inside: Arc::clone(&self.inside),
        };
        Some((place, show_out))
    }
}

impl ClientSlot {
    /// Notes that the client waits for an answer.
    pub fn asks(&self) {
        if let Some(client) = lock(&self.inside).clients.get_mut(&self.number) {
            client.idle_since = None;
        }
    }

    /// Notes that it has one, or that it goes on to be served.
    pub fn is_answered(&self, goes_on: bool) {
        let mut inside = lock(&self.inside);
        inside.moment += 1;
        let moment = inside.moment;
        if let Some(client) = inside.clients.get_mut(&self.number) {
            client.idle_since = (!goes_on).then_some(moment);
        }
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        lock(&self.inside).clients.remove(&self.number);
    }
}

fn lock(inside: &Mutex<Inside>) -> MutexGuard<'_, Inside> {
    inside.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    #[test]
    fn who_has_been_idle_for_longest_makes_room_and_nobody_who_is_served() {
        let lobby = Lobby::default();
        let local = IpAddr::from([127, 0, 0, 1]);
        let mut places: Vec<_> = (0..MOST_CLIENTS)
            .map(|_| lobby.enter(local).unwrap())
            .collect();
        places[0].0.asks();
        places[1].0.asks();
        places[1].0.is_answered(false);

        let _new = lobby.enter(local).unwrap();

        let shown_out = places
            .iter_mut()
            .position(|(_, it)| it.try_recv().is_err_and(is_closed));
        assert_eq!(shown_out, Some(2));
    }

    #[test]
    fn nobody_is_let_in_while_all_are_served() {
        let lobby = Lobby::default();
        let addresses = (0..=u8::MAX).cycle().take(MOST_CLIENTS).map(address);
        let places: Vec<_> = addresses.map(|it| lobby.enter(it).unwrap()).collect();
        for (place, _) in &places {
            place.asks();
            place.is_answered(true);
        }

        let refused = lobby.enter(address(1)).is_none();
        drop(places);

        assert!(refused);
        assert!(lobby.enter(address(1)).is_some());
    }

    #[test]
    fn one_address_of_a_network_takes_no_places_of_others() {
        let lobby = Lobby::default();
        let (_other, mut stays) = lobby.enter(address(2)).unwrap();
        let mut places = Vec::new();

        for _ in 0..2 * MOST_CLIENTS {
            places.push(lobby.enter(address(1)).unwrap());
        }

        assert_eq!(lock(&lobby.inside).clients.len(), MOST_OF_ONE_ADDRESS + 1);
        assert!(!stays.try_recv().is_err_and(is_closed));
    }

    fn is_closed(error: oneshot::error::TryRecvError) -> bool {
        error == oneshot::error::TryRecvError::Closed
    }
}
