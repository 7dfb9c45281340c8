export { freePort } from '../../.scripts/servers/free-port.mjs';
