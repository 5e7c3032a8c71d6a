/** The version in package.json, which a bundle cannot read. */
export const packageVersion = '0.2.0'
