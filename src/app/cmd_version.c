#include "app/app.h"

#include <stdio.h>

int cmd_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("%s %s (%s)\n", app_name(), INTERLUDE_VERSION, INTERLUDE_COMMIT);
    return app_output_end();
}
