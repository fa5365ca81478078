import { answerOf, described } from '../../presenting/answer-members.js';

/** The provider reads the status alone. */
export class ReceivedResponse extends answerOf({ received: described<true>({ type: Boolean }) }) {}
