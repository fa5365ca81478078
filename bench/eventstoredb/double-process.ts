import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/double.js';

/**
 * The double in a process of its own, so that it does not share the event loop with what is
 * measured. Prints its URL, and ends when its input ends.
 */
const double = await startEventStoreDbDouble();
console.log(double.url);
process.stdin.once('end', () => void double.stop().then(() => process.exit(0))).resume();
