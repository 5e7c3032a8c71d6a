/** How far a task is, a transport that numbers its events knows: on the wire of every dialect it is 0. */
export const generation = 0

/** Stands in the model for the moment of a status that names none, and is written again only if it was named. */
export const unknownMoment = '1970-01-01T00:00:00.000Z'
