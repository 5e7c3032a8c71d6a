/** What goes wrong with one stream on its way. Events are counted from 1, in each stream anew. */
export type Fault =
  | CallFault
  | { readonly type: 'cut' | 'end' | 'silence'; readonly after: number }
  | { readonly type: 'drop' | 'duplicate' | 'reorder'; readonly event: number }
  | { readonly type: 'delay'; readonly event: number; readonly milliseconds: number }

/** What goes wrong with a call as a whole. */
export interface CallFault {
  readonly type: 'refuse' | 'lose'
}

/** The request does not reach the agent. */
export const refuse = (): CallFault => ({ type: 'refuse' })

/** The agent gets the request, but nothing comes back. */
export const lose = (): CallFault => ({ type: 'lose' })

/** The connection breaks after so many events. */
export const cut = (after: number): Fault => ({ type: 'cut', after })

/** The stream ends after so many events, as if that were all. */
export const end = (after: number): Fault => ({ type: 'end', after })

/** After so many events nothing comes any more, and nobody says so. */
export const silence = (after: number): Fault => ({ type: 'silence', after })

/** This event is lost. */
export const drop = (event: number): Fault => ({ type: 'drop', event })

/** This event comes twice. */
export const duplicate = (event: number): Fault => ({ type: 'duplicate', event })

/** This event comes after the one that follows it. */
export const reorder = (event: number): Fault => ({ type: 'reorder', event })

/** This event, and with it all that follow, come so many milliseconds later. */
export const delay = (event: number, milliseconds: number): Fault => ({ type: 'delay', event, milliseconds })
