// The worker that all tabs share: one connection for all of them.

import { Connection } from './connection.js';

const tabs = new Set();
const connection = new Connection((message) => {
  for (const tab of tabs) tab.postMessage(message);
});
connection.start();

self.onconnect = ({ ports: [tab] }) => {
  tabs.add(tab);
  tab.onmessage = ({ data }) => {
    if (data.token !== undefined) connection.identify(data.token);
    if (data.leaves) tabs.delete(tab);
  };
  for (const message of connection.greeting()) tab.postMessage(message);
};
