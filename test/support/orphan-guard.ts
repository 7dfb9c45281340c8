export { guardAgainstOrphans } from '../../.scripts/servers/processes.mjs';
