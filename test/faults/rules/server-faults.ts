import type { StoreScene } from '../scenes/store-scene.js';
import { connectionRules } from './connection.rules.js';
import { crashRules } from './crash.rules.js';
import { givingBackRules } from './giving-back.rules.js';
import { lostMessageRules } from './lost-messages.rules.js';
import { outageRules } from './outage.rules.js';
import { serverRules } from './server.rules.js';

/** Every fault that a server and the way to it can have, for whatever store it is. A new store gives a scene, and calls this. */
export function serverFaults(scene: StoreScene): void {
  lostMessageRules(scene);
  connectionRules(scene);
  crashRules(scene);
  givingBackRules(scene);
  serverRules(scene);
  outageRules(scene);
}
