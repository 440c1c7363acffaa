/* Feeds files to a fuzz target that was built without libFuzzer. Each argument is a file or a
 * directory, which is searched to its bottom. So a corpus is a regression test for any compiler. */
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static int file_replay(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)where;
    if (kind == FTW_D) return 0;
    FILE *f = kind == FTW_F && S_ISREG(info->st_mode) ? fopen(path, "rb") : NULL;
    if (!f) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 2;
    }
    /* Exactly as large as the file: a sanitizer then sees a read beyond the end. */
    size_t size = (size_t)info->st_size;
    uint8_t *data = malloc(size ? size : 1);
    bool whole = data && fread(data, 1, size, f) == size;
    fclose(f);
    if (whole) {
        LLVMFuzzerTestOneInput(data, size);
        replayed++;
    } else {
        fprintf(stderr, "%s: not read to its end\n", path);
    }
    free(data);
    return whole ? 0 : 2;
}

int main(int argc, char **argv)
{
    enum { DESCRIPTORS_MAX = 16 };
    for (int i = 1; i < argc; i++) {
        int result = nftw(argv[i], file_replay, DESCRIPTORS_MAX, FTW_PHYS);
        if (result < 0) perror(argv[i]);
        if (result != 0) return 2;
    }
    printf("replayed %zu inputs\n", replayed);
    return replayed > 0 ? 0 : 2;
}
