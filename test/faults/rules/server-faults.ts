import type { StoreScene } from '../scenes/store-scene.js';
import { connectionRules } from './connection.rules.js';
import { crashRules } from './crash.rules.js';
import { exitRules } from './exit.rules.js';
import { floodRules } from './flood.rules.js';
import { releaseRules } from './release.rules.js';
import { lateRequestRules, lostMessageRules } from './lost-messages.rules.js';
import { outageRules } from './outage.rules.js';
import { serverRules } from './server.rules.js';

/** All faults of a server and of the connection to it. A new store provides a scene and calls this. */
export function serverFaults(scene: StoreScene): void {
  lostMessageRules(scene);
  lateRequestRules(scene);
  connectionRules(scene);
  crashRules(scene);
  exitRules(scene);
  floodRules(scene);
  releaseRules(scene);
  serverRules(scene);
  outageRules(scene);
}
