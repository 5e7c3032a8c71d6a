/** Stands where a secret was. */
export const redactionMark = '[redacted]'
