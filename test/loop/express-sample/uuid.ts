/** Stands in for the package `uuid`, which the sample imports. */
export const v4 = () => crypto.randomUUID()
