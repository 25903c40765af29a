import { mount } from 'svelte';
import App from './App.svelte';
import { network } from './network.svelte.js';
import { loadRun } from './run.js';
import './page.css';

if (new URLSearchParams(location.search).has('run')) {
  loadRun(network).catch((error) => {
    network.status = { state: 'lost', reason: `the run cannot be read: ${error.message}`, since: Date.now() };
  });
} else {
  network.connect();
}
mount(App, { target: document.body });
