/** What the ids of messages of the conformance suite begin with: their tasks wait for nobody. */
export const conformanceMark = 'conformance-'
