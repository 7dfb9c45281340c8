import { postgresPrograms } from './postgres-server.js';
import { whereThereIs } from './where-there-is.js';

export const whereThereIsPostgres = whereThereIs('PostgreSQL', postgresPrograms);
