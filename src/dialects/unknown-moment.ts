/** Stands in the model for the moment of a status that names none on the wire, and is not written there again. */
export const unknownMoment = '1970-01-01T00:00:00.000Z'
