import { answerOf, described } from '../../presenting/answer-members.js';

/** The provider reads only the status. */
export class ReceivedResponse extends answerOf({ received: described<true>({ type: Boolean }) }) {}
