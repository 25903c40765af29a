// The state of the page, kept in its address: whoever gets the link sees the same. Nothing
// secret is ever in it.

const KEYS = ['flow', 'node', 'at', 'find', 'hide', 'open', 'view', 'moment'];

class Address {
  flow = $state(null);
  node = $state(null);
  /** A moment of a run or of the last hour, in seconds. */
  at = $state(null);
  find = $state(null);
  hide = $state(null);
  /** Groups of the map that are shown switch by switch: `all`, or the name of one in each. */
  open = $state(null);
  view = $state(null);
  /** With which moment the present is compared, in seconds since 1970. */
  moment = $state(null);

  read() {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const key of KEYS) this[key] = words.get(key);
  }

  /** Changes what is given; what becomes null leaves the address. */
  set(changes) {
    Object.assign(this, changes);
    const words = new URLSearchParams();
    for (const key of KEYS) if (this[key]) words.set(key, this[key]);
    const hash = words.toString();
    history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search);
  }
}

export const address = new Address();
address.read();
addEventListener('hashchange', () => address.read());
