import { register } from 'node:module';
import { PLANTS } from './plants.js';

/** Imported before the simulator: the modules that it loads from here on have the fault. */
const plant = PLANTS.find(({ name }) => name === process.env['SIMULATE_PLANTED']);
if (plant === undefined) throw new RangeError('SIMULATE_PLANTED names no plant');
register('./plant-hooks.js', import.meta.url, { data: plant });
