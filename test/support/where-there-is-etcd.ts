import { etcdProgram } from './etcd-server.js';
import { whereThereIs } from './where-there-is.js';

export const whereThereIsEtcd = whereThereIs('etcd', etcdProgram);
