/** What each template is, by its name. */
export declare const templates: Readonly<Record<string, string>>
export declare function createProject(path: string, template: string): { readonly path: string; readonly name: string }
