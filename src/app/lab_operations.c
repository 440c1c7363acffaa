/* Asking the operations port, with errors that say which URL was meant, and what to do. */
#include "app/app.h"

#include "lab/load_target.h"

#define OPERATIONS_URL "http://127.0.0.1:7071"

enum err_code lab_operations_wrong(const struct load_target *target, struct err *e)
{
    struct err why = *e;
    if (why.code == ERR_SYSTEM)
        return err_set(e, ERR_SYSTEM,
                       "%.80s: %.60s; start the server, or give the URL of its operations port "
                       "(" OPERATIONS_URL ", if its plan names no other)",
                       target->url, why.text);
    return err_set(e, why.code,
                   "%.80s: %.70s; is it the operations port? (" OPERATIONS_URL
                   ", if the server's plan names no other)",
                   target->url, why.text);
}

enum err_code lab_operations_fetch(const struct load_target *target, char **body, struct err *e)
{
    enum err_code code = load_target_fetch(target, body, e);
    return code ? lab_operations_wrong(target, e) : ERR_OK;
}
