import { whereThereIs } from './where-there-is.js';

/** The path of a Chromium; `npm run test:stores` sets it. */
export const chromiumProgram = process.env['CHROMIUM'];

export const whereThereIsChromium = whereThereIs('Chromium', chromiumProgram);
