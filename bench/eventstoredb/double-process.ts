import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/double.js';

/**
 * The double in a process of its own, so that it does not take turns with what is measured. Says
 * its URL, and ends with its input.
 */
const double = await startEventStoreDbDouble();
console.log(double.url);
process.stdin.once('end', () => void double.stop().then(() => process.exit(0))).resume();
