import { zooKeeperLibraries } from './zookeeper-server.js';
import { whereThereIs } from './where-there-is.js';

export const whereThereIsZooKeeper = whereThereIs('ZooKeeper and Java', zooKeeperLibraries);
