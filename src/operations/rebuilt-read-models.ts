import { ReadModelsIncomplete } from '../projecting/generations/live-generations.js';
import { NotDone, type Outcome } from './outcome.js';

/** What read models answer; refused while they are being rebuilt. */
export const unlessRebuilt = <T>(answer: Promise<T>): Promise<Outcome<T>> =>
  answer.catch((error: unknown) => {
    if (error instanceof ReadModelsIncomplete)
      return new NotDone({ code: 'READ_MODELS_BEING_REBUILT' });
    throw error;
  });
